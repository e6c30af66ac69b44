package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/gatewaytest"
)

// agreementHead is common to the configurations whose log is replayed. Requests come from one trusted address, for many clients.
const agreementHead = `
worker_rlimit_nofile 16384;
error_log logs/error.log crit;
events { worker_connections 8192; }
http {
	set_real_ip_from 127.0.0.1;
	real_ip_header X-Client;
	keepalive_requests 1000000;
	log_format agree '$remote_addr $realip_remote_addr $msec $request_time "$request" $status '
	                 '$limit_req_status $limit_conn_status $limit_count_status $limit_token_status';
	access_log logs/access.log agree;
	limit_req_status 429; limit_conn_status 429; limit_count_status 429; limit_token_status 429;
`

// agreement is a configuration with the traffic that it gets: clients of whom half are busier than the others.
type agreement struct {
	name  string
	conf  string // the rest of the http block
	paths []string
	stay  func(*rand.Rand) int // milliseconds at the backend; nil: files are asked for

	hot, cold [2]float64 // requests a second of a client, in the short form and in the long one
}

var agreements = []agreement{
	{
		name: "limit_req with nodelay, by address",
		conf: `limit_req_zone $binary_remote_addr zone=a:10m rate=2r/s;
			server { listen 127.0.0.1:@8080@; location / { root html; limit_req zone=a burst=3 nodelay; } }`,
		paths: []string{"/f"}, hot: [2]float64{3.5, 2.8}, cold: [2]float64{1.2, 1.2},
	},
	{
		name: "limit_req with delay",
		conf: `limit_req_zone $binary_remote_addr zone=a:10m rate=4r/s;
			server { listen 127.0.0.1:@8080@; location / { root html; limit_req zone=a burst=2; } }`,
		paths: []string{"/f"}, hot: [2]float64{5.5, 5}, cold: [2]float64{1.5, 1.5},
	},
	{
		name: "limit_conn and limit_req",
		conf: `limit_req_zone $binary_remote_addr zone=a:10m rate=3r/s;
			limit_conn_zone $binary_remote_addr zone=c:10m;
			server { listen 127.0.0.1:@8080@; location / { limit_req zone=a burst=4 nodelay; limit_conn c 2; proxy_pass http://%s; } }`,
		paths: []string{"/hold"}, hot: [2]float64{2.6, 2.6}, cold: [2]float64{1, 1},
		stay: func(r *rand.Rand) int { return 50 + r.IntN(450) },
	},
	{
		name: "limit_count and limit_token, several zones and locations",
		conf: `limit_count_zone $binary_remote_addr zone=n:10m limit=8 window=4s;
			limit_count_zone $binary_remote_addr zone=f:10m limit=20 window=10s algorithm=fixed;
			limit_token_zone $binary_remote_addr zone=t:10m rate=1r/s capacity=5;
			limit_req_zone $binary_remote_addr$uri zone=u:10m rate=2r/s;
			limit_count zone=n;
			server { listen 127.0.0.1:@8080@; root html;
				location /f { limit_token zone=t; }
				location /g { limit_count zone=f; limit_req zone=u burst=2 nodelay; }
				location /h { limit_token zone=t cost=2; limit_req zone=u burst=1; }
				location /i { }
			}`,
		paths: []string{"/f", "/g", "/h", "/i"}, hot: [2]float64{3, 2.6}, cold: [2]float64{1, 1},
	},
}

// TestAgreement has the live gateway decide on requests and replay its log: both say the same of nearly all of them, and what they
// say otherwise comes from what a log of milliseconds can't tell. AGREEMENT=long asks 100,000 times each: make agreement.
func TestAgreement(t *testing.T) {
	long, requests, perSecond := 0, 3000, 600.0
	if os.Getenv("AGREEMENT") == "long" {
		long, requests, perSecond = 1, 100_000, 2000
	}
	binary := gatewaytest.Limitgate(t)
	for _, a := range agreements {
		t.Run(a.name, func(t *testing.T) {
			if long == 0 {
				t.Parallel()
			}
			const seed = 7
			conf := a.conf
			if a.stay != nil {
				conf = fmt.Sprintf(conf, holder(t))
			}
			g := gatewaytest.Prepare(t, binary, agreementHead+conf+"\n}\n")
			for _, p := range []string{"f", "g", "h", "i"} {
				g.Write("html/"+p, "a small file\n")
			}
			g.Run()
			shoot(t, g.Addr(8080), a.shots(seed, long, requests, perSecond))
			g.Stop()
			log := g.Read("logs/access.log")
			j := &judgement{t: t, g: g, logged: map[int]outcome{}}
			j.read(log)
			j.judge(log, requests)
		})
	}
}

// shot is a request of a client at its time.
type shot struct {
	after  time.Duration
	head   string
	number int
}

// shots makes the traffic: requests come at random, at a rate.
func (a *agreement) shots(seed uint64, long, requests int, perSecond float64) []shot {
	r := rand.New(rand.NewPCG(seed, 1))
	hot, cold := a.hot[long], a.cold[long]
	clients := int(2 * perSecond / (hot + cold))
	list := make([]shot, requests)
	at := time.Duration(0)
	for i := range list {
		at += time.Duration(r.ExpFloat64() / perSecond * float64(time.Second))
		who := 2 * r.IntN(clients/2)
		if r.Float64()*(hot+cold) < cold {
			who++
		}
		stay := ""
		if a.stay != nil {
			stay = fmt.Sprintf("&ms=%d", a.stay(r))
		}
		list[i] = shot{at, fmt.Sprintf("GET %s?n=%d%s HTTP/1.1\r\nHost: h\r\nX-Client: 10.1.%d.%d\r\n\r\n", a.paths[r.IntN(len(a.paths))], i, stay, who/250, who%250), i}
	}
	return list
}

// outcome is what was decided on a request.
type outcome struct {
	client, verdict string
	arrival         float64
}

// judgement compares what was logged with what replay says.
type judgement struct {
	t      *testing.T
	g      *gatewaytest.Gateway
	logged map[int]outcome // by the number of the request
}

// numberOf reads n= of a request line.
func numberOf(request string) int {
	_, rest, _ := strings.Cut(request, "n=")
	n, err := strconv.Atoi(rest[:strings.IndexAny(rest+" ", "& ")])
	if err != nil {
		return -1
	}
	return n
}

// read takes over what the gateway logged.
func (j *judgement) read(log string) {
	for line := range strings.Lines(log) {
		f := strings.Fields(line)
		verdict := "unlimited"
		for _, said := range f[8:] {
			switch v := strings.ToLower(said); v {
			case "passed", "delayed", "rejected":
				if rank := []string{"unlimited", "passed", "delayed", "rejected"}; slices.Index(rank, v) > slices.Index(rank, verdict) {
					verdict = v
				}
			}
		}
		j.logged[numberOf(f[5])] = outcome{client: f[0], verdict: verdict}
	}
}

// replay runs limitgate replay on a log.
func (j *judgement) replay(log string) map[int]outcome {
	j.t.Helper()
	dir := j.t.TempDir()
	name, verdicts := filepath.Join(dir, "access.log"), filepath.Join(dir, "verdicts")
	if err := os.WriteFile(name, []byte(log), 0o644); err != nil {
		j.t.Fatal(err)
	}
	cmd := exec.Command(j.g.Binary.Path, "replay", name, "-p", j.g.Prefix, "-c", "nginx.conf", "--log-format", "agree", "--verdicts", verdicts)
	if out, err := cmd.CombinedOutput(); err != nil {
		j.t.Fatalf("replay: %v\n%s", err, out)
	}
	text, err := os.ReadFile(verdicts)
	if err != nil {
		j.t.Fatal(err)
	}
	all := map[int]outcome{}
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var v struct{ Request, Verdict, Client, Arrival string }
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			j.t.Fatal(err)
		}
		arrival, _ := strconv.ParseFloat(v.Arrival, 64)
		all[numberOf(v.Request)] = outcome{client: v.Client, verdict: v.Verdict, arrival: arrival}
	}
	return all
}

// The causes of a difference, and by how much a decision may come behind an arrival, or a line of the log behind an end, by them.
var causes = []struct {
	name string
	late time.Duration
}{
	{"the log's milliseconds: within them it is decided either way", 0},
	{"the processor was busy between arrival and decision, or end and log, for at most 5 ms", 5 * time.Millisecond},
	{"the processor was busy between arrival and decision, or end and log, for at most 100 ms", 100 * time.Millisecond},
	{"it follows from a difference before it, of the same client", -1},
}

// judge replays the log as it is and, for what differs, as it may have been: with each stamp and time anywhere within its millisecond.
func (j *judgement) judge(log string, requests int) {
	t := j.t
	said := j.replay(log)
	if len(j.logged) != requests || len(said) != requests {
		t.Fatalf("%d requests, %d logged and %d replayed", requests, len(j.logged), len(said))
	}
	verdicts := map[string]int{}
	var differ []int
	for n, was := range j.logged {
		verdicts[was.verdict]++
		if said[n].verdict != was.verdict {
			differ = append(differ, n)
		}
	}
	refused := float64(verdicts["rejected"]) / float64(requests) * 100
	agree := 100 - float64(len(differ))/float64(requests)*100
	t.Logf("%d requests: %v; refused %.1f %%; replay agrees on %.3f %%", requests, verdicts, refused, agree)
	least, most, want := 10.0, 30.0, 99.5
	if requests < 100_000 { // a few of so few, on a machine that does other things, are more
		least, most, want = 5, 40, 99
	}
	if refused < least || refused > most {
		t.Errorf("%.1f %% refused: want %v to %v, for the comparison to mean something", refused, least, most)
	}
	if agree < want {
		t.Errorf("replay agrees on %.3f %%, want %v", agree, want)
	}
	pairs := map[string]int{}
	for _, n := range differ {
		pairs[j.logged[n].verdict+", replayed as "+said[n].verdict]++
	}
	for _, pair := range slices.Sorted(maps.Keys(pairs)) {
		t.Logf("%5d  logged as %s", pairs[pair], pair)
	}
	for n := range j.explain(log, said, differ) {
		tell := t.Errorf
		if requests < 100_000 {
			tell = t.Logf // tests run beside it, and may hold a process up for longer than is tried
		}
		tell("request %d of %s at %.6f: logged %s, replayed %s, and nothing explains it", n, j.logged[n].client, said[n].arrival, j.logged[n].verdict, said[n].verdict)
		for line := range strings.Lines(log) {
			f := strings.Fields(line)
			at := float64(micros(f[2])-micros(f[3]))/1e6 - said[n].arrival
			if k := numberOf(f[5]); f[0] == j.logged[n].client && at > -3 && at < 1 {
				t.Logf("   %d at %+.3f s, replayed %s: %s", k, at, said[k].verdict, strings.TrimSpace(line))
			}
		}
	}
}

// explain finds out why requests differ, and returns those of which it does not. Of each cause it tries, on the log as it would be
// then, whether the request is decided as it was.
func (j *judgement) explain(log string, said map[int]outcome, differ []int) map[int]bool {
	open := map[int]bool{}
	for _, n := range differ {
		open[n] = true
	}
	for i, cause := range causes {
		before := len(open)
		for round := range uint64(12) {
			if len(open) == 0 || cause.late < 0 {
				break
			}
			other := j.replay(shake(log, rand.New(rand.NewPCG(round, uint64(i))), cause.late))
			maps.DeleteFunc(open, func(n int, _ bool) bool { return other[n].verdict == j.logged[n].verdict })
		}
		if cause.late < 0 {
			maps.DeleteFunc(open, func(n int, _ bool) bool {
				return slices.ContainsFunc(differ, func(k int) bool {
					return k != n && j.logged[k].client == j.logged[n].client && said[k].arrival <= said[n].arrival && said[k].arrival > said[n].arrival-10
				})
			})
		}
		if n := before - len(open); n > 0 {
			j.t.Logf("%5d  %s", n, cause.name)
		}
	}
	return open
}

// shake gives each line of a log a beginning and an end within the milliseconds that it tells, and lets some begin late and some
// end early.
func shake(log string, r *rand.Rand, late time.Duration) string {
	var b strings.Builder
	for line := range strings.Lines(log) {
		f := strings.SplitN(line, " ", 5)
		begin := micros(f[2]) - micros(f[3]) + r.Int64N(1000)
		if late > 0 && r.IntN(4) == 0 {
			begin += r.Int64N(late.Microseconds())
		}
		end := micros(f[2]) + r.Int64N(1000)
		if late > 0 && r.IntN(4) == 0 {
			end -= r.Int64N(late.Microseconds())
		}
		end = max(begin, end)
		fmt.Fprintf(&b, "%s %s %d.%06d %d.%06d %s", f[0], f[1], end/1e6, end%1e6, (end-begin)/1e6, (end-begin)%1e6, f[4])
	}
	return b.String()
}

// micros reads seconds with three decimals as microseconds.
func micros(text string) int64 {
	n, err := strconv.ParseInt(strings.Replace(text, ".", "", 1), 10, 64)
	if err != nil {
		panic(err) // the log was read before
	}
	return n * 1000
}
