"""perl: hashes, arrays, split and join, regular expressions, sort, closures, fork."""
import preloaded

SCRIPT = r"""
my %count; my $text = join ' ', map { 'w' . ($_ * 7919 % 4001) } 1 .. 150000;
$count{$_}++ for split / /, $text;
print join(',', map { "$_=$count{$_}" } (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 9]), "\n";
my @rows = map { { id => $_, name => "row $_", list => [1 .. $_ % 20] } } 1 .. 20000;
my $sum = 0; $sum += @{$_->{list}} for grep { $_->{name} =~ /[37]$/ } @rows; print "$sum\n";
my @adders = map { my $n = $_; sub { $_[0] + $n } } 1 .. 5000; my $v = 0; $v = $_->($v) for @adders; print "$v\n";
(my $copy = $text) =~ s/(\d+)/<$1>/g; print length($copy), "\n";
for my $i (1 .. 20) { my $pid = fork; if (!$pid) { my @x = map { "c$_" } 1 .. 1000; exit(@x == 1000 ? 7 : 1); } waitpid $pid, 0; print $? >> 8; }
print "\n";
"""


def work(runner):
    return runner.run("perl", "-e", SCRIPT)


preloaded.compare(work, needs=["perl"])
