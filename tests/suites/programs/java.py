"""java: the compiler and the program in one virtual machine, with threads, its heap reserved by mmap and malloc beside it."""
import preloaded

SOURCE = r"""
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
public class Work {
    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> parts = new ArrayList<>();
        for (int part = 0; part < 8; part++) {
            final int seed = part;
            parts.add(pool.submit(() -> {
                Map<String, byte[]> map = new HashMap<>();
                for (int i = 0; i < 20000; i++) map.put("k" + (i * 7919 + seed) % 5003, new byte[i % 256]);
                return map.entrySet().stream().mapToLong(e -> e.getKey().length() + e.getValue().length).sum();
            }));
        }
        long sum = 0;
        for (Future<Long> part : parts) sum += part.get();
        pool.shutdown();
        System.out.println(sum + " " + IntStream.range(0, 1000).mapToObj(Integer::toString).collect(Collectors.joining()).hashCode());
        java.util.zip.Deflater deflater = new java.util.zip.Deflater();
        deflater.setInput(new byte[1 << 20]); deflater.finish();
        System.out.println(deflater.deflate(new byte[1 << 16]));
        deflater.end();
    }
}
"""


def work(runner):
    return runner.run("java", "-Xmx256m", "-XX:-UsePerfData", runner.file("Work.java", SOURCE))


preloaded.compare(work, needs=["java", "javac"])
