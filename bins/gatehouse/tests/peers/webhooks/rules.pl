# A webhook receiver that implements only the four rules of the specification, in another language and with another
# library than Gatehouse. It has the same settings as the receivers of the documentation.
use strict;
use warnings;
use Digest::SHA qw(hmac_sha256_hex);
use IO::Socket::INET;

$| = 1;
$SIG{PIPE} = "IGNORE";
my @secrets = split /,/, $ENV{WEBHOOK_SECRETS};
my $server = IO::Socket::INET->new(
    LocalAddr => "127.0.0.1", LocalPort => $ENV{RECEIVER_PORT}, Listen => 64, ReuseAddr => 1,
) or die "cannot listen: $!\n";
printf "listening on http://127.0.0.1:%d\n", $server->sockport;
my %seen;

# Compares in constant time.
sub equal {
    my ($one, $other) = @_;
    return 0 if length $one != length $other;
    my $differs = 0;
    $differs |= ord(substr $one, $_, 1) ^ ord(substr $other, $_, 1) for 0 .. length($one) - 1;
    return $differs == 0;
}

sub is_genuine {
    my ($timestamp, $signature, $body) = @_;
    return 0 if $timestamp !~ /\A[0-9]+(?:\.[0-9]+)?\z/;
    return 0 if abs(time - $timestamp) > 300;
    my $genuine = 0;
    $genuine |= equal($signature, "v1=" . hmac_sha256_hex("$timestamp.$body", $_)) for @secrets;
    return $genuine;
}

sub receive {
    my ($client) = @_;
    my $start = <$client> // return;
    my %headers;
    while (defined(my $line = <$client>)) {
        last if $line =~ /\A\r?\n\z/;
        $headers{lc $1} = $2 if $line =~ /\A([^:]+):[ \t]*(.*?)[ \t]*\r?\n\z/;
    }
    my $body = "";
    read $client, $body, $headers{"content-length"} // 0;
    my ($timestamp, $signature) = map { $headers{$_} // "" } qw(x-service-timestamp x-service-signature);
    if (!is_genuine($timestamp, $signature, $body)) {
        my $problem = '{"error":"the signature does not verify","code":"WEBHOOK_INVALID_SIGNATURE"}';
        my $length = length $problem;
        print $client "HTTP/1.1 401 Unauthorized\r\nContent-Length: $length\r\nConnection: close\r\n\r\n$problem";
        return;
    }
    my $id = $headers{"x-service-event-id"};
    print "$id\n" if !$seen{$id}++;
    print $client "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
    return;
}

while (1) {
    my $client = $server->accept or next;
    # Connections are served one at a time, so an idle one must not block the others.
    eval {
        local $SIG{ALRM} = sub { die "timed out\n" };
        alarm 5;
        receive($client);
    };
    alarm 0;
    close $client;
}
