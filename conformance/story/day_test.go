package story

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// rolling is what the story reads of limitgate rollout status --json.
type rolling struct {
	Phase, Share, Why string
	Since             time.Time
}

func (s *story) rollout() rolling {
	s.t.Helper()
	var list []rolling
	out, err := s.quiet("limitgate rollout status --json -c " + storyConf)
	if err == nil {
		err = json.Unmarshal([]byte(out), &list)
	}
	if err != nil || len(list) != 1 {
		s.t.Fatalf("rollout status: %v\n%s", err, out)
	}
	return list[0]
}

const storyStatus = "limitgate rollout status -c " + storyConf

func (s *story) canary() {
	s.head("For a few")
	s.tell(`The morning is quiet, and that is when to begin: while bots are refused by the thousand nobody would see that a customer is. In the place of limit_req_dry_run the limit gets a
		rollout, in http. It enforces for one key in twenty, then for one in four, then for all, and goes back by itself when more than 5 %% of the requests
		of enforced keys are refused.`)
	s.edit(storyConf, "            limit_req_dry_run  on;\n", "", "")
	s.edit(storyConf, "    limit_req_zone ", storyRollout+"    limit_req_zone ", storyRollout)
	s.run("limitgate -t -c " + storyConf)
	from := time.Now()
	s.reload()
	time.Sleep(700 * time.Millisecond)
	s.holds(s.run(storyStatus), `login: running, enforced for 5% of the keys`)
	s.holds(s.run(`curl -s http://127.0.0.1:9100/metrics | grep '^limitgate_rollout_\(share\|phase\)' | grep -v ' 0$'`), `limitgate_rollout_share\{rollout="login"\} 0\.05`)
	var second rolling
	waits(s.t, "the second step", func() bool { second = s.rollout(); return second.Share == "25%" || second.Phase != "running" })
	s.want(second.Share == "25%", "got %+v, want the second step", second)
	var stopped rolling
	waits(s.t, "a stop", func() bool { stopped = s.rollout(); return stopped.Phase == "aborted" })
	s.want(stopped.Share == "0%" && strings.HasPrefix(stopped.Why, "rejected_share is "), "got %+v, want a stop because of refusals", stopped)
	time.Sleep(300 * time.Millisecond)
	back := s.pass(s.calm)
	s.tell("The first step is dull, as it should be. The second one has hardly begun when a message comes:")
	waits(s.t, "the webhook", func() bool { return s.pager.last("stopped") != "" })
	s.block("json", regexp.MustCompile(`"instance":"[^"/]*/`).ReplaceAllString(s.pager.last("stopped"), `"instance":"web1/`))
	s.holds(s.run(storyStatus), `login: aborted, enforced for 0% of the keys`, `why: rejected_share is `)
	s.holds(s.run("grep -o 'rollout \"login\" .*' "+storyLog+"error.log"), `advances from 5% to 25%`, `goes back to dry run from 25% of the keys: rejected_share is `)
	office := s.look("office", back)
	s.want(office.good() > 99 && office.status[429] == 0, "got %.1f %% of the office in after the stop", office.good())
	s.tell("Nothing is refused any more. It took no hand and no reload, and it stays so until somebody says otherwise.")
	s.sides(from, second.Since)
}

// sides holds the access log of the rollout against what a canary is to be: who is enforced is so for a share of the keys, stays so when the
// share grows, and nobody else was refused.
func (s *story) sides(from, second time.Time) {
	type side struct{ first, later bool } // enforced at the first step, and at all
	keys := map[string]*side{}
	for line := range strings.Lines(s.read(storyLog + "access.log")) {
		var addr, status, canary string
		var at float64
		f := strings.Fields(line)
		addr, status, canary = f[0], f[9], f[len(f)-1]
		if _, err := fmt.Sscan(f[3], &at); err != nil {
			s.t.Fatalf("%v in %s", err, line)
		}
		if at < float64(from.UnixMilli())/1000 || canary == "-" {
			continue
		}
		s.want(status != "429" || canary == "enforced", "refused without being enforced: %s", line)
		k := keys[addr]
		if k == nil {
			k = &side{}
			keys[addr] = k
		}
		if canary == "enforced" {
			k.later = true
			k.first = k.first || at < float64(second.UnixMilli())/1000
		}
	}
	first, later := 0, 0
	for _, k := range keys {
		if k.first {
			first++
		}
		if k.later {
			later++
		}
	}
	s.t.Logf("canary: %d of %d keys at 5 %%, %d at 25 %%", first, len(keys), later)
	for share, got := range map[float64]int{0.05: first, 0.25: later} {
		want := share * float64(len(keys))
		// The steps are shorter than what the rarest customer needs to come: fewer may be seen, more may not.
		if bound := 5 * math.Sqrt(want*(1-share)); float64(got) > want+bound || float64(got) < want/2-bound {
			s.t.Errorf("%d of %d keys were enforced at %.0f %%, want about %.0f", got, len(keys), 100*share, want)
		}
	}
	s.want(keys[officeAddr] != nil && keys[officeAddr].later && !keys[officeAddr].first, "the office is not among those that came with the second step: %+v", keys[officeAddr])
}

func (s *story) override() {
	s.head("The office")
	s.tell("Who was refused? The access log knows: $limit_req_status and $limit_canary stand in each line.")
	out := s.run("grep ' REJECTED enforced$' " + storyLog + "access.log | cut -d ' ' -f 1 | sort | uniq -c")
	s.want(strings.Count(out, "\n") == 1 && strings.Contains(out, officeAddr), "got\n%s\nwant the office alone", out)
	s.tell(`One address. It is the shop's own office: a hundred people behind one address, who log in all day. Could that have been known? The night's log is full of bots; this
		morning's has none, and replay takes a limit that is rolled out as enforced for all:`)
	out = s.run("limitgate replay " + storyLog + "access.log -c " + storyConf + " | grep -A 2 '^client'")
	s.holds(out, `(?m)^203\.0\.113\.50 .*100\.0 %`)
	s.tell(`It could. So ask both: the log of a bad night, what a limit does to those it is for, and the log of a good day, what it does to the others. The limit is right, for
		everybody but this one address, which gets numbers of its own, at once and without a reload. They are kept beside the socket, and last over a restart. What it owes by the
		old ones is forgotten:`)
	s.holds(s.run("limitgate key show login "+officeAddr+" -c "+storyConf), `rate=2r/s burst=5`)
	s.run("limitgate key set login " + officeAddr + " rate=60r/s burst=120 -c " + storyConf)
	s.run("limitgate key reset login " + officeAddr + " -c " + storyConf)
	s.holds(s.run("limitgate key show login "+officeAddr+" -c "+storyConf), `rate=60r/s burst=120; the next request is PASSED`)
	s.tell("Once more, from the first step:")
	s.run("limitgate rollout advance -c " + storyConf)
	from := time.Now()
	waits(s.t, "the last step", func() bool { r := s.rollout(); return r.Phase != "running" })
	st := stage{from, time.Now()}
	time.Sleep(100 * time.Millisecond)
	s.holds(s.run(storyStatus), `login: complete, enforced for 100% of the keys`)
	c, _ := s.measured("the rollout, no bots", st)
	office := s.look("office", st)
	s.want(office.status[429] == 0 && office.good() > 99, "the office is refused with numbers of its own: %v", office.status)
	s.want(c.good() > 99, "got %.1f %% of the customers in", c.good())
	n := s.decisions(s.run(storyMetrics))
	s.want(n["passed"] > 0, "got %v, want decisions in earnest", n)
	s.tell("%d logins of the office during these steps, and none refused. The rollout is complete.", office.visits)
}

func (s *story) enforce() {
	s.head("For all")
	s.tell("A rollout that is complete has done its work. Its block goes away, and the limit is an ordinary one:")
	s.edit("/etc/limitgate/new.conf", storyRollout, "", "")
	s.holds(s.fails("limitgate diff /etc/limitgate/new.conf -c "+storyConf), `rollout`)
	s.run("mv /etc/limitgate/new.conf " + storyConf + " && limitgate -t -c " + storyConf)
	s.reload()
	s.tell("In the evening the bots are back, all of them:")
	was := s.decisions(s.metrics())
	stop := s.attack()
	defer stop()
	time.Sleep(s.ramp)
	st := s.calmly(s.measure, func(st stage) bool { return s.flooded(st) && s.app.p99(st) < s.app.p99(s.evening)+s.slack })
	c, b := s.measured("the flood, enforced", st)
	n := since(was, s.decisions(s.run(storyMetrics)))
	s.holds(s.run(storyTop+" | head -n 12"), `192\.0\.2\.\d+`)
	quiet, hurt, now := s.figures[0], s.figures[1], s.figures[len(s.figures)-1]
	s.want(b.refused() > 70 && b.unsaid == 0, "%.1f %% of the bots are refused, %d without Retry-After", b.refused(), b.unsaid)
	s.want(c.good() > 99, "got %.1f %% of the customers in during the flood", c.good())
	office := s.look("office", st)
	s.want(office.good() > 99, "got %.1f %% of the office in during the flood", office.good())
	s.want(now.app < hurt.app/2 && now.app < quiet.app+s.slack, "p99 is %v, on a quiet evening %v, in the flood %v", now.app, quiet.app, hurt.app)
	for addr := range c.addrs {
		s.t.Errorf("customer %s was refused", addr)
	}
	s.tell(`%s logins a second, and it is a quiet evening: %.1f %% of the customers get in, and the p99 of a check is %s, as against %s without bots and %s in the night
		before. Of the bots' requests %.1f %% are refused, each with 429 and a Retry-After; %s refusals in this wave. The application sees the rest and answers them 401.`,
		thousands(now.offered), c.good(), ms(now.app), ms(quiet.app), ms(hurt.app), b.refused(), thousands(n["refused"]))
	s.badReload()
}

func (s *story) badReload() {
	s.head("A slip of the hand")
	s.tell("The flood goes on, and somebody wants to help:")
	good := s.read(storyConf)
	s.edit(storyConf, "burst=5 nodelay", "burst=5 nodely", "            limit_req          zone=login burst=5 nodely;")
	s.holds(s.fails(storyReload), `nodely`)
	s.tell("The command looks before it sends. Past it, with a bare signal:")
	s.run("kill -HUP $(cat /run/limitgate/limitgate.pid)")
	const reloads = `curl -s http://127.0.0.1:9100/metrics | grep '^limitgate.*reload.*\(good\|bad\|successful\)'`
	waits(s.t, "a reload that is refused", func() bool {
		out, _ := s.quiet(reloads)
		return strings.Contains(out, "limitgate_last_reload_successful 0")
	})
	s.holds(s.run("grep nodely "+storyLog+"error.log"), `\[emerg\].*invalid parameter "nodely"`)
	s.holds(s.run(reloads), `last_reload_successful 0`, `reloads_total\{result="bad"\} 1`)
	st := s.pass(s.calm)
	c, b := s.measured("after a reload that was refused", st)
	s.want(b.refused() > 70 && c.good() > 99, "the refused file changed something: %.1f %% of the bots refused, %.1f %% of the customers in", b.refused(), c.good())
	s.holds(s.run("limitgate key show login 192.0.2.1 -c "+storyConf), `rate=2r/s burst=5`)
	s.tell("A file with a fault changes nothing: the limit that was in force is, and %.1f %% of the bots' requests are still refused. An alert rule looks at that metric. The file is mended, and read.", b.refused())
	s.write(storyConf, good)
	s.reload()
	s.holds(s.run(reloads), `last_reload_successful 1`)
}

func (s *story) rollback() {
	s.head("A file without a fault")
	s.tell(`Days later somebody tidies up. Three lines about addresses look like left-overs; without them the file is shorter, and the check is content:`)
	s.edit(storyConf, storyTrusted, "", "")
	s.run("limitgate -t -c " + storyConf)
	s.reload()
	time.Sleep(500 * time.Millisecond)
	st := s.pass(s.calm)
	c, _ := s.measured("without real_ip", st)
	s.want(c.refused() > 80, "got %.1f %% of the customers refused, want nearly all of them", c.refused())
	s.run(storyMetrics)
	s.tell("The phone again: %.1f %% of the customers are refused. What became active lately?", c.refused())
	list := s.run("limitgate history -c " + storyConf)
	numbers := activeNumbers(list)
	s.want(len(numbers) >= 2 && strings.Contains(list, "refused  "), "got\n%s\nwant at least two numbers and a refusal", list)
	bad, was := numbers[len(numbers)-1], numbers[len(numbers)-2]
	s.holds(s.fails(fmt.Sprintf("limitgate diff %s %s -c %s", was, bad, storyConf)), `trusted proxies .*- 127\.0\.0\.2`)
	s.tell("Number 6 is not in the list: it was refused, and stands at the end. Everybody is one client again, this time in earnest. Back first, understanding later:")
	s.holds(s.run("limitgate rollback --watch 2s -c "+storyConf), `number `+was+` is active again`, `nothing is worse: \d+ requests since`)
	st = s.pass(s.calm)
	c, b := s.measured("after the rollback", st)
	office := s.look("office", st)
	s.want(c.good() > 99 && office.good() > 99, "after the rollback %.1f %% of the customers and %.1f %% of the office are in", c.good(), office.good())
	s.want(b.visits == 0, "got bots where none are to be")
	s.holds(s.run("limitgate key show login 198.51.100.1 -c "+storyConf), `rate=2r/s burst=5`)
	s.tell(`The gateway checked the kept files, went back to them, and watched whether that made things worse. %.1f %% of the customers get in, and the office has its numbers still.
		The file on the disk is the tidy one, though, and the next reload would read it:`, c.good())
	s.holds(s.run("limitgate history -c "+storyConf+" | tail -n 3"), `rollback to `+was, `warning: `)
	s.run(fmt.Sprintf("limitgate history show %s -c %s | sed 1d > /etc/limitgate/new.conf && mv /etc/limitgate/new.conf %s", was, storyConf, storyConf))
	s.reload()
	out := s.run("limitgate history -c " + storyConf + " | tail -n 2")
	s.want(!strings.Contains(out, "warning"), "the disk is still another:\n%s", out)
	s.tell("No limit changed, and the warning is gone: what runs is what a restart would read.")
}

// activeNumbers are those of what became active.
func activeNumbers(list string) (n []string) {
	for line := range strings.Lines(list) {
		if f := strings.Fields(line); len(f) > 0 && f[0][0] >= '0' && f[0][0] <= '9' {
			n = append(n, f[0])
		}
	}
	return n
}

func (s *story) end() {
	s.head("The figures")
	s.b.WriteString("\n| stage | requests a second | customers that get in | p99 of a check | p99 of a customer | bots refused |\n|---|---|---|---|---|---|\n")
	for _, f := range s.figures {
		fmt.Fprintf(&s.b, "| %s | %s | %.1f %% | %s | %s | %s |\n", f.stage, thousands(f.offered), f.good, ms(f.app), ms(f.user), f.bots)
	}
	s.tell(`The p99 of a check is the application's own; that of a customer goes through the balancer and the gateway, and counts those who got in. "make story" measures
		them again: the test is in conformance/story.`)
	s.tell(`More: [rollout.md](rollout.md) the steps, [observability.md](observability.md) what the limiter finds wrong with itself, [replay.md](replay.md) the log of yesterday, [history.md](history.md)
		the way back, [admin.md](admin.md) numbers for one key, [metrics.md](metrics.md) what can be counted.`)
}
