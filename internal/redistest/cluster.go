package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// Cluster starts three masters that share the slots, and returns when each of them knows all.
func Cluster(t testing.TB) []*Server {
	t.Helper()
	const nodes, slots = 3, 16384
	var all []*Server
	var bus []string
	for i := range nodes {
		bus = append(bus, gatewaytest.FreePort(t))
		s := Start(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "2000", "--cluster-port", bus[i])
		s.Do("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/nodes), strconv.Itoa((i+1)*slots/nodes-1))
		s.Do("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		all = append(all, s)
	}
	for i := range all[1:] {
		all[0].Do("CLUSTER", "MEET", "127.0.0.1", all[i+1].Port, bus[i+1])
	}
	for _, s := range all {
		wait(t, "the cluster", func() bool {
			info := s.Do("CLUSTER", "INFO")
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(nodes))
		})
	}
	return all
}

// Watched is a master with a replica, and the sentinels that watch them.
type Watched struct {
	Name            string // of the master, to sentinels
	Master, Replica *Server
	Sentinels       []*Server
}

// Sentinel starts a master, a replica and two sentinels, who take a master for gone after half a second.
func Sentinel(t testing.TB) *Watched {
	t.Helper()
	w := &Watched{Name: "watched", Master: Start(t)}
	w.Replica = Start(t, "--replicaof", "127.0.0.1 "+w.Master.Port, "--repl-diskless-sync-delay", "0")
	wait(t, "the replica", func() bool {
		return strings.Contains(w.Replica.Do("INFO", "replication"), "master_link_status:up")
	})
	for range 2 {
		s := &Server{Port: gatewaytest.FreePort(t), Dir: t.TempDir(), t: t}
		conf := filepath.Join(s.Dir, "sentinel.conf")
		text := fmt.Sprintf("port %s\nbind 127.0.0.1\ndir %s\nsentinel monitor %s 127.0.0.1 %s 1\nsentinel down-after-milliseconds %s 500\nsentinel failover-timeout %s 3000\n",
			s.Port, s.Dir, w.Name, w.Master.Port, w.Name, w.Name)
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.args = []string{conf, "--sentinel"}
		s.Run()
		w.Sentinels = append(w.Sentinels, s)
	}
	for _, s := range w.Sentinels {
		wait(t, "the sentinels", func() bool {
			info := s.Do("INFO", "sentinel")
			return strings.Contains(info, "slaves=1") && strings.Contains(info, "sentinels=2")
		})
	}
	return w
}

// URL names the master through its sentinels.
func (w *Watched) URL() string {
	return "redis+sentinel://" + w.Sentinels[0].Addr() + "," + w.Sentinels[1].Addr() + "/" + w.Name
}

// wait asks again and again until ok, and ends the test if that takes too long.
func wait(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not ready after 30 seconds", what)
		}
	}
}
