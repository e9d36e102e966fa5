"""node: V8's own reservations, worker threads, zlib and crypto in the thread pool."""
import preloaded

SCRIPT = r"""
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const zlib = require('zlib'), crypto = require('crypto');
if (!isMainThread) {
    const map = new Map();
    for (let i = 0; i < 60000; i++) map.set('key' + (i * 7919 % 10007), Buffer.alloc(64, i & 255));
    let sum = 0;
    for (const [key, value] of map) sum += key.length + value[0];
    parentPort.postMessage(sum + workerData);
} else {
    const text = Array.from({ length: 40000 }, (_, i) => 'line ' + (i * i % 9973)).join('\n');
    const workers = [0, 1, 2, 3].map(i => new Promise((good, bad) => {
        new Worker(__filename, { workerData: i }).on('message', good).on('error', bad);
    }));
    const zipped = Promise.all([1, 6, 9].map(level => new Promise((good, bad) =>
        zlib.deflate(text, { level }, (error, out) => error ? bad(error) : good(out.length)))));
    Promise.all([...workers, zipped]).then(all => {
        console.log(JSON.stringify(all), crypto.createHash('sha256').update(text).digest('hex'));
        console.log(crypto.pbkdf2Sync('secret', 'salt', 5000, 32, 'sha256').toString('hex'));
    });
}
"""


def work(runner):
    return runner.run("node", runner.file("work.js", SCRIPT))


preloaded.compare(work, needs=["node"])
