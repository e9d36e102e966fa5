"""php: its extensions are opened with RTLD_DEEPBIND, so that their free() would bind past a preloaded malloc."""
import preloaded

SCRIPT = r"""<?php
$rows = [];
for ($i = 0; $i < 60000; $i++) { $rows[] = ['id' => $i, 'name' => 'row ' . ($i * 7919 % 4001), 'v' => $i * $i % 997]; }
usort($rows, fn($a, $b) => [$a['v'], $a['id']] <=> [$b['v'], $b['id']]);
$json = json_encode($rows); echo strlen($json), ' ', md5($json), "\n";
echo count(json_decode($json, true)), ' ', preg_match_all('/"v":(\d)\d?,?/', $json), "\n";
echo md5(serialize(unserialize(serialize(array_slice($rows, 0, 5000))))), "\n";
$generator = (function () { for ($i = 0; $i < 10000; $i++) yield str_repeat('x', $i % 100); })();
$sum = 0; foreach ($generator as $s) { $sum += strlen($s); } echo $sum, "\n";
ini_set('memory_limit', '64M');
echo hash('sha256', $json), ' ', implode(',', array_filter(get_loaded_extensions(), fn($e) => $e[0] === 'P')), "\n";
"""


def work(runner):
    return runner.run("php", "-d", "memory_limit=512M", runner.file("work.php", SCRIPT))


preloaded.compare(work, needs=["php"])
