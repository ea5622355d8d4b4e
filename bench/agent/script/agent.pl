# The benchmark's agent in Perl: the metrics of cagent/agent.c on PCP::PMDA. The first
# argument limits the instances: domains with more are empty.
use strict;
use warnings;
use PCP::PMDA;

my @sizes = (10, 1000, 10000);
my $limit = shift @ARGV;
my @rows;
my $pmda = PCP::PMDA->new('benchperl', 400);

$pmda->add_metric(pmda_pmid(0, 0), PM_TYPE_64, PM_INDOM_NULL, PM_SEM_INSTANT,
    pmda_units(0, 0, 0, 0, 0, 0), 'bench.single', 'one value', '');
for my $d (0 .. $#sizes) {
    my $count = $sizes[$d] <= $limit ? $sizes[$d] : 0;
    my @insts = map { ($_ => "instance$_") } 0 .. $count - 1;
    my $indom = $pmda->add_indom($d, \@insts, '', '');
    $rows[$d] = [map { 1000 * $_ } 0 .. $count - 1];
    for my $item (0 .. 7) {
        my $cluster = $d + 1;
        $pmda->add_metric(pmda_pmid($cluster, $item), PM_TYPE_64, $indom, PM_SEM_INSTANT,
            pmda_units(0, 0, 0, 0, 0, 0), "bench.cluster$cluster.item$item", 'a value per instance', '');
    }
}

sub fetch_value {
    my ($cluster, $item, $inst) = @_;
    return (42, 1) if $cluster == 0;
    my $row = $rows[$cluster - 1][$inst];
    return (PM_ERR_INST, 0) unless defined $row;
    return ($row + $item, 1);
}

$pmda->set_fetch_callback(\&fetch_value);
$pmda->run;
