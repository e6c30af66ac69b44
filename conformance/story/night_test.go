package story

import (
	"encoding/json"
	"math"
	"strings"
	"time"
)

func (s *story) begin() {
	s.b.WriteString("# The worst night, and the day after\n")
	s.tell(`A shop has a login page, a balancer in front of it, and limitgate between them. One night somebody tries a list of stolen passwords.
		This page tells what the operator sees and does, from the first alert to a limit that holds, and two mistakes after it.`)
	s.tell(`It is no tale: a test plays it. A balancer, an application that checks passwords with %d workers of %s each, and a running gateway; every
		command is run, what it prints is what it printed, and every figure was measured. "make story" plays it again and writes this page. Seconds
		stand for what takes minutes in earnest. The addresses are those for documentation; the balancer is %s.`, s.workers, ms(s.work), balancerAddr)
	s.tell(`Who comes: %d customers, each from an address of their own, half of them over IPv6; an office, with all its people behind one address; and
		later %d bots. The configuration at the beginning, as somebody left it who had read that a limit is to be watched before it is enforced:`, customers, s.bots)
	s.block("nginx", storyStart)
	s.tell("It runs:")
	s.block("console", "$ limitgate -c "+storyConf)
}

func (s *story) quiet1() {
	s.head("A quiet evening")
	st := s.pass(s.calm)
	s.evening = st
	c, _ := s.measured("a quiet evening", st)
	s.want(c.good() > 99, "got %.1f %% of the customers in on a quiet evening", c.good())
	s.tell(`%d logins a second. Of a hundred checks of a password, 99 take the application at most %s.`, customerRate+officeRate, ms(s.app.p99(st)))
	n := s.decisions(s.run(storyMetrics))
	s.want(n["dry_run_passed"] > 0 && n["passed"]+n["refused"] == 0, "got %v, want that the limit only watches", n)
	s.tell(`Look twice. With ten requests a second for each client the limit should have nothing to say to customers of whom each comes once in a
		few seconds, and yet it would have refused most of them. Nobody looked.`)
	s.want(n["dry_run_refused"] > n["dry_run_passed"], "got %v, want that most would be refused by a limit of the balancer", n)
}

func (s *story) flood1() {
	s.head("Ten past two")
	stop := s.attack()
	defer stop()
	time.Sleep(s.ramp + 500*time.Millisecond)
	st := s.calmly(s.measure, s.flooded)
	c, b := s.measured("the flood, nothing enforced", st)
	s.want(s.app.p99(st) > 300*time.Millisecond && c.good() < 90, "got p99 %v and %.1f %% of the customers in: the flood does not hurt", s.app.p99(st), c.good())
	s.want(c.status[429]+b.status[429] == 0, "got %d refusals by a limit in dry run", c.status[429]+b.status[429])
	row := s.figures[len(s.figures)-1]
	s.want(s.flooded(st), "got %.0f logins a second: this machine is too busy for a flood", row.offered)
	s.tell(`The logins go from %d a second to %s. The application can do %.0f; what it can't take waits, and what has waited for half a second is told
		503. The p99 of a check goes to %s. Of a hundred customers %.0f get in. Somebody's phone rings. The first question is always the same: who is it?`,
		customerRate+officeRate, thousands(row.offered), float64(s.workers)/s.work.Seconds(), ms(row.app), c.good())
	waits(s.t, "that the gateway finds the balancer", func() bool {
		out, err := s.quiet("curl -s http://127.0.0.1:9100/metrics")
		return err == nil && strings.Contains(out, `limitgate_findings{kind="one_address"} 1`)
	})
	top := s.run(storyTop)
	s.holds(top, `(?m)^ +127\.0\.0\.2 `, `zone "login": (100|9[5-9]) % of the requests of the last minutes came from one address inside your network`)
	s.want(!strings.Contains(top, officeAddr) && !strings.Contains(top, "192.0.2."), "clients are counted before the balancer is trusted:\n%s", top)
	s.tell(`One key, and it is the balancer. The limit counts everybody as one client. Whoever had enforced it now would have refused nearly every
		customer, and the bots with them: that it was in dry run is what saved the evening.`)
	s.tell(`The gateway noticed by itself. The warning stands in the error log, once an hour at most, and in a metric that can ring a phone before anybody
		does (examples/monitoring/alerts.yml):`)
	s.run(`grep 'from one address' ` + storyLog + `error.log`)
	s.run(`curl -s http://127.0.0.1:9100/metrics | grep 'findings.*one_address'`)
	n := s.decisions(s.run(storyMetrics))
	share := 100 * n["dry_run_refused"] / (n["dry_run_refused"] + n["dry_run_passed"])
	s.want(share > 80, "got %.1f %% that would be refused, want nearly all", share)
	s.tell(`"dry_run_refused" is %.0f %% of all: that is what enforcing would have done.`, share)
	s.head("Whose address it is")
	s.tell(`The warning says the mend. The balancer is trusted, and nobody else: what stands in X-Forwarded-For before its own word is what a client wrote,
		and the bots do write something there.`)
	s.edit("/etc/limitgate/new.conf", "    limit_req_zone ", storyTrusted+"    limit_req_zone ", storyTrusted)
	s.tell("These lines go into http, in a second file for now. What would they change?")
	s.holds(s.fails("limitgate diff "+storyConf+" /etc/limitgate/new.conf"), `trusted proxies .*\+ 127\.0\.0\.2`)
	s.tell("Into its place, checked, and read:")
	s.run("mv /etc/limitgate/new.conf " + storyConf + " && limitgate -t -c " + storyConf)
	s.reload()
	time.Sleep(s.calm)
	s.mended()
}

// mended looks at who is counted now.
func (s *story) mended() {
	top := s.run(storyTop + " | head -n 20")
	s.holds(top, `(?m)^ +192\.0\.2\.\d+ `)
	s.want(!strings.Contains(top, "198.18.0.99"), "what bots write into X-Forwarded-For is believed:\n%s", top)
	s.tell(`There they are, each of them over and over. The balancer's row is what was counted before the reload; it halves every minute. Nobody is refused yet, and nobody should
		be: ten a second for each of %d bots would still be %d a second, and the application has room for %.0f.`, s.bots, 10*s.bots, float64(s.workers)/s.work.Seconds()-customerRate-officeRate)
}

func (s *story) baseline() {
	s.head("Numbers, from the log")
	s.tell(`A quarter of an hour later the bots are gone. They will be back. Until then there is the log of the night, and the question of the rate: what do honest
		clients need, and what would be left of the flood? Two logins a second and five at once on top is more than any household does.`)
	s.edit("/etc/limitgate/new.conf", "rate=10r/s", "rate=2r/s", "    limit_req_zone       $binary_client_network zone=login:10m rate=2r/s;")
	text := strings.Replace(s.read("/etc/limitgate/new.conf"), storyTried, storyEnforced, 1)
	s.write("/etc/limitgate/new.conf", text)
	s.block("nginx", dedent(storyEnforced))
	s.tell(`The log was written while the balancer was counted as everybody. That does no harm: it has X-Forwarded-For, and replay finds the clients as the gateway does.`)
	const replay = "limitgate replay " + storyLog + "access.log -c /etc/limitgate/new.conf"
	out := s.run(replay + " | head -n 14")
	s.holds(out, `^this configuration would have refused `)
	s.run(replay + " | grep -A 5 '^client'")
	r := s.replay(storyLog + "access.log -c /etc/limitgate/new.conf")
	s.want(r.Requests > 0 && len(r.Hit.Clients) >= min(s.bots, 20), "got %+v, want each bot among those that are hit", r)
	for i, c := range r.Hit.Clients {
		s.want(strings.HasPrefix(c.Text, "192.0.2.") || c.Text == officeAddr, "replay would refuse %s, place %d of %d", c.Text, i+1, len(r.Hit.Clients))
	}
	s.tell(`%.0f %% of that night would have been refused, and the five that are hit most are bots. Enough to go on with, it seems. Remember that the list ends at five.`,
		100*float64(r.Total.Rejected.Max)/float64(r.Requests))
}

func (s *story) dryRun() {
	s.head("Dry run")
	s.tell("The new numbers go live, but only watch:")
	s.edit(storyConf, "rate=10r/s", "rate=2r/s", "")
	s.edit(storyConf, "burst=20", "burst=5", "            limit_req          zone=login burst=5 nodelay;\n            limit_req_dry_run  on;")
	s.reload()
	s.holds(s.run("grep -o 'login: .*' "+storyLog+"error.log | tail -n 1"), `login: 10 r/s -> 2 r/s, burst 20 -> 5, at once 21 -> 6`)
	s.tell("The error log says what a reload changed, in limits and not in lines. Then the second wave comes, and nobody is refused:")
	s.rotate(storyLog + "access.log.1")
	was := s.decisions(s.metrics())
	stop := s.attack()
	from := time.Now()
	time.Sleep(s.ramp + s.measure)
	stop()
	time.Sleep(time.Second) // the queue
	s.rotate(storyLog + "wave.log")
	is := s.decisions(s.run(storyMetrics))
	n := since(was, is)
	st := stage{from.Add(s.ramp), from.Add(s.ramp + s.measure)}
	c, b := s.measured("the second wave, dry run", st)
	s.want(c.status[429]+b.status[429] == 0, "got refusals in dry run")
	all := n["dry_run_passed"] + n["dry_run_refused"]
	r := s.replay(storyLog + "wave.log -c " + storyConf)
	counted, replayed := 100*n["dry_run_refused"]/all, 100*float64(r.Total.DryRefused.Max)/float64(r.Requests)
	s.t.Logf("dry run: the gateway counts %.0f of %.0f, replay %d of %d", n["dry_run_refused"], all, r.Total.DryRefused.Max, r.Requests)
	off := math.Abs(n["dry_run_refused"] - float64(r.Total.DryRefused.Max))
	s.want(counted > 40 && off < 20+0.03*n["dry_run_refused"], "the gateway would have refused %.0f, replay says %d", n["dry_run_refused"], r.Total.DryRefused.Max)
	s.tell(`Of the %s logins of this wave the limit would have refused %.1f %%. Replay on the log of the same minutes says %.1f %%: what it said about the night can be believed.`, thousands(all), counted, replayed)
}

// metrics are what storyMetrics prints, without a word on the page.
func (s *story) metrics() string {
	s.t.Helper()
	out, err := s.quiet(storyMetrics)
	if err != nil {
		s.t.Fatal(err, out)
	}
	return out
}

// report is what the story reads of limitgate replay --json.
type report struct {
	Requests uint64
	Total    struct {
		Rejected   span
		DryRefused span `json:"dry_rejected"`
	}
	Hit struct {
		Clients []struct{ Text string }
	}
}

type span struct{ Min, Max uint64 }

func (s *story) replay(args string) (r report) {
	s.t.Helper()
	out, err := s.quiet("limitgate replay --json " + args)
	if err == nil {
		err = json.Unmarshal([]byte(out), &r)
	}
	if err != nil {
		s.t.Fatalf("replay %s: %v\n%s", args, err, out)
	}
	return r
}
