#!/bin/sh
# Network namespaces as machines, for bench/machines.R (Linux, as root):
#
#   sh bench/network.sh RATE Rscript bench/machines.R ...
#
# RATE is that of tc, 1gbit or 10gbit: what the link of each of two workers
# carries in either direction. Links have no delay of their own.
rate=$1
shift
end() {
  for k in 1 2; do
    ip link del "gibbsite$k" 2> /dev/null
    ip netns del "gibbsite$k" 2> /dev/null
  done
}
trap end EXIT
trap 'exit 1' HUP INT TERM
end
for k in 1 2; do
  ip netns add "gibbsite$k" &&
    ip link add "gibbsite$k" type veth peer name eth0 netns "gibbsite$k" &&
    ip address add "10.77.$k.1/24" dev "gibbsite$k" &&
    ip link set "gibbsite$k" up &&
    tc qdisc add dev "gibbsite$k" root tbf rate "$rate" burst 256kb latency 1s &&
    ip -n "gibbsite$k" address add "10.77.$k.2/24" dev eth0 &&
    ip -n "gibbsite$k" link set eth0 up &&
    tc -n "gibbsite$k" qdisc add dev eth0 root tbf rate "$rate" burst 256kb \
      latency 1s || exit 1
done
GIBBSITE_BENCH_NETWORK=10.77 "$@"
