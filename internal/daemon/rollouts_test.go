package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/errorlog"
	"github.com/limitgate/limitgate/internal/rollout"
)

// rolled is rollouts on a clock of the test, in a folder; start begins another process there.
type rolled struct {
	*rollouts
	t    *testing.T
	dir  string
	time limitgate.Time
	said []string
}

func newRolled(t *testing.T) *rolled {
	r := &rolled{t: t, dir: t.TempDir(), time: limitgate.Time(1_772_366_400_000_000_000)}
	r.start()
	return r
}

func (r *rolled) start() {
	zs := newZones(func() limitgate.Time { return r.time })
	say := sayFunc(func(level errorlog.Level, line string) { r.said = append(r.said, fmt.Sprint(level, ": ", line)) })
	zs.say.Store(&say)
	r.rollouts = newRollouts(zs)
	r.t.Cleanup(r.hooks.Close)
}

// load makes the inside of an http block the running configuration, and returns the last that was said, without the folder.
func (r *rolled) load(http string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, "nginx.conf")
	text := "events {}\nhttp { limit_req_zone $arg_k zone=a:1m rate=1r/s; limit_req_zone $arg_k zone=b:1m rate=1r/s;\n" + http + "\n}\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.t.Fatal(err)
	}
	cfg, errs := conf.Load(conf.Options{Path: path})
	for _, e := range errs.List() {
		r.t.Fatal(e)
	}
	r.said = nil
	r.use(cfg, &Options{Prefix: r.dir}, filepath.Join(r.dir, "pid")).commit()
	return r.last()
}

func (r *rolled) last() string {
	if len(r.said) == 0 {
		return ""
	}
	return strings.ReplaceAll(r.said[len(r.said)-1], r.dir, "")
}

// see lets requests of enforced keys pass, and a time, and looks at all rollouts.
func (r *rolled) see(n int, after time.Duration) string {
	r.said = nil
	for _, one := range r.byName {
		for range n {
			p := one.live.Begin(rollout.Enforced, false)
			p.End(&rollout.End{Begun: r.time, Status: 200})
		}
	}
	r.time = r.time.Add(after)
	r.tick()
	return r.last()
}

// is tells where a rollout is.
func (r *rolled) is(name string) string {
	one := r.byName[name]
	if one == nil {
		return "none"
	}
	if one.live.Share() != one.state.Share {
		r.t.Errorf("requests see %s, the state says %s", one.live.Share(), one.state.Share)
	}
	return fmt.Sprint(one.state.Phase, " ", one.state.Share)
}

func (r *rolled) want(what, got, want string) {
	r.t.Helper()
	if got != want {
		r.t.Errorf("%s: got %s, want %s", what, got, want)
	}
}

const (
	ofA   = "limit_rollout one { zones a; steps 1% 25% 100%; stop rejected_share > 2%; }"
	ofA50 = "limit_rollout one { zones a; steps 1% 50% 100%; }"
)

// A rollout goes on where it was after a reload and after the process was killed, and a step is watched for its whole time by one.
func TestRolloutsOutliveTheProcess(t *testing.T) {
	r := newRolled(t)
	r.want("begins", r.load(ofA), `notice: rollout "one" begins: enforced for 1% of the keys`)
	r.want("first step", r.see(100, 10*time.Minute), `notice: rollout "one" advances from 1% to 25% of the keys`)
	since := r.byName["one"].state.Since
	r.see(100, 6*time.Minute)
	r.want("reload", r.load(ofA), "")
	r.want("reload, later", r.see(0, 4*time.Minute), `notice: rollout "one" advances from 25% to 100% of the keys`)

	r.start() // from what is on the disk
	r.want("restart", r.load(ofA), `notice: rollout "one" goes on, running, enforced for 100% of the keys`)
	if got := r.byName["one"].state.Since; !got.After(since) {
		t.Errorf("since %v, want a step later than %v", got, since)
	}
	kept := r.byName["one"].state.Since
	r.see(100, 9*time.Minute)
	r.start()
	r.load(ofA)
	if got := r.byName["one"].state.Since; got != kept {
		t.Errorf("since %v, want %v as before", got, kept)
	}
	r.want("another process, after its 9m", r.see(100, 9*time.Minute), "")
	r.want("and after 10m", r.see(0, time.Minute), `notice: rollout "one" is complete: enforced for 100% of the keys`)
	r.start()
	r.load(ofA)
	r.want("complete", r.is("one"), "complete 100%")
	if info, err := os.Stat(filepath.Join(r.dir, "pid.rollouts")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want a file of mode 0600", info, err)
	}
}

// What stopped stays stopped over reloads and restarts, with its reason.
func TestStoppedStaysStopped(t *testing.T) {
	r := newRolled(t)
	r.load(ofA)
	for range 100 {
		p := r.byName["one"].live.Begin(rollout.Enforced, true)
		p.End(&rollout.End{Begun: r.time, Barred: true})
	}
	r.want("stops", r.see(0, time.Second), `error: rollout "one" goes back to dry run from 1% of the keys: rejected_share is 100% of 100 requests within 1m, above 2%`)
	r.want("reload", r.load(ofA)+r.is("one"), "aborted 0%")
	r.start()
	r.want("restart", r.load(ofA), `notice: rollout "one" goes on, aborted, enforced for 0% of the keys: rejected_share is 100% of 100 requests within 1m, above 2%`)
	r.want("hours later", r.see(1000, 9*time.Hour)+r.is("one"), "aborted 0%")
	if err := r.act("", "advance"); err != nil || r.is("one") != "running 1%" {
		t.Errorf("advance: got %v, %s", err, r.is("one"))
	}
}

func TestOperatorsOfRollouts(t *testing.T) {
	r := newRolled(t)
	if err := r.act("", "hold"); err == nil || !strings.Contains(err.Error(), "has no limit_rollout") {
		t.Errorf("without any: got %v", err)
	}
	r.load(ofA + "limit_rollout two { zones b; steps 5% 100%; }")
	for _, c := range []struct{ name, act, want string }{
		{"one", "hold", "held 1%"}, {"one", "hold", "is held"}, {"one", "resume", "running 1%"}, {"one", "advance", "running 25%"},
		{"one", "abort", "aborted 0%"}, {"", "hold", "name one of the rollouts: one, two"}, {"three", "hold", "there are one, two"}, {"one", "explode", "is none of"},
	} {
		err := r.act(c.name, c.act)
		if err != nil && !strings.Contains(err.Error(), c.want) || err == nil && r.is(c.name) != c.want {
			t.Errorf("%s %s: got %v, %s, want %s", c.act, c.name, err, r.is(c.name), c.want)
		}
	}
	r.want("the other", r.is("two"), "running 5%")
	list := r.reports()
	if len(list) != 2 || list[0].Name != "one" || list[0].Why != "by an operator" || list[1].WaitsFor != "10m to go" {
		t.Errorf("got %+v", list)
	}
}

// A file that can't be read enforces nothing, and is kept beside; a second one too.
func TestDamagedStateStaysInDryRun(t *testing.T) {
	r := newRolled(t)
	path := filepath.Join(r.dir, "pid.rollouts")
	for i, aside := range []string{".bad", ".bad.1"} {
		text := fmt.Sprint("limitgate rollouts 1 00000000\n[] ", i)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r.start()
		r.load(ofA)
		r.want("damaged", r.is("one"), "aborted 0%")
		all := strings.ReplaceAll(strings.Join(r.said, "\n"), r.dir, "")
		if !strings.Contains(all, "error: the state in /pid.rollouts can't be read: its checksum is another: it was cut off or changed; rollouts stay in dry run until limitgate rollout advance, the file is kept as /pid.rollouts"+aside) {
			t.Errorf("said: %s", all)
		}
		if kept, err := os.ReadFile(path + aside); err != nil || string(kept) != text {
			t.Errorf("kept: got %q, %v", kept, err)
		}
		// A rollout that is new later has nothing to do with it.
		r.load(ofA + "limit_rollout two { zones b; steps 5%; }")
		r.want("a new one", r.is("two"), "running 5%")
	}
	r.start()
	r.load(ofA)
	r.want("the new file", r.is("one"), "aborted 0%")
}

// Other steps never enforce more than before; a rollout that is gone is forgotten.
func TestChangedRollouts(t *testing.T) {
	r := newRolled(t)
	r.load(ofA)
	r.act("one", "advance")
	r.want("other steps", r.load(ofA50), `notice: rollout "one" has other steps: enforced for 1% of the keys, before for 25%, running`)
	r.want("gone", r.load("limit_rollout two { zones b; steps 5%; }"), `notice: rollout "one" is not in the configuration any more: its state is forgotten`)
	r.want("back", r.load(ofA), `notice: rollout "two" is not in the configuration any more: its state is forgotten`)
	r.want("back", r.is("one"), "running 1%")
	r.act("one", "advance")
	r.start()
	r.load("") // a process without rollouts forgets too
	r.start()
	r.load(ofA)
	r.want("after a process without it", r.is("one"), "running 1%")
}

// One that was aborted does not begin again because its block was gone for a while: by a rollback and its return, or by mistake.
func TestAbortedStaysSoWhileGone(t *testing.T) {
	r := newRolled(t)
	r.load(ofA)
	r.act("one", "abort")
	r.want("gone", r.load("limit_rollout two { zones b; steps 5%; }"), `notice: rollout "one" is not in the configuration any more: if it comes back it is aborted still`)
	r.load(ofA)
	r.want("back", r.is("one"), "aborted 0%")
	r.load("")
	r.start()
	r.load("") // a process without it keeps that
	r.start()
	r.want("after processes without it", r.load(ofA), `notice: rollout "one" goes on, aborted, enforced for 0% of the keys: by an operator`)
	r.want("after processes without it", r.is("one"), "aborted 0%")
	r.act("one", "advance")
	r.load("")
	r.load(ofA)
	r.want("one that ran is forgotten", r.is("one"), "running 1%")
	r.act("one", "abort")
	r.load("")
	r.load(strings.Replace(ofA, "zones a", "zones b", 1))
	r.want("another of this name", r.is("one"), "running 1%")
}

func TestWhereTheStateIs(t *testing.T) {
	r := newRolled(t)
	r.load("limit_rollout_state a.state;" + ofA)
	r.act("one", "advance")
	r.load("limit_rollout_state " + r.dir + "/b.state;" + ofA)
	r.want("another file", r.is("one"), "running 25%")
	r.start()
	r.load("limit_rollout_state b.state;" + ofA)
	r.want("the other file after a start", r.is("one"), "running 25%")
	r.want("none", r.load("limit_rollout_state off;"+ofA)+r.is("one"), "running 25%")
	r.start()
	r.load("limit_rollout_state off;" + ofA)
	r.want("none after a start", r.is("one"), "running 1%")
	if all := strings.Join(r.said, "\n"); !strings.Contains(all, "warn: rollouts begin anew with each start") {
		t.Errorf("said: %s", all)
	}
	if names, err := filepath.Glob(r.dir + "/*.state*"); err != nil || len(names) != 2 {
		t.Errorf("got %v, %v, want two files", names, err)
	}
}

// Two gateways with one file would take each other's state for their own: it is told.
func TestStateOfTwoProcesses(t *testing.T) {
	r := newRolled(t)
	r.load(ofA)
	r.act("one", "advance")
	other := &rolled{t: t, dir: r.dir, time: r.time}
	other.start()
	other.load(ofA)
	other.act("one", "advance")
	if all := strings.Join(other.said, "\n"); strings.Contains(all, "another process") {
		t.Errorf("the one who came last said: %s", all)
	}
	r.said = nil
	r.act("one", "abort")
	r.want("the first", r.last(), "alert: /pid.rollouts was written by another process, whose rollouts a start anew would take for its own: name a file for each gateway with limit_rollout_state")
	r.act("one", "advance")
	if len(r.said) != 3 {
		t.Errorf("said %q: want it told once", r.said)
	}
}

// A file that can't be written is told once, and tried again until it can.
func TestStateThatCannotBeWritten(t *testing.T) {
	r := newRolled(t)
	r.load(ofA)
	broken, tries := true, 0
	as := func(do func() error) error {
		if tries++; broken {
			return errors.New("no space left")
		}
		return do()
	}
	r.said, r.as = nil, as
	if err := r.act("one", "abort"); err != nil || r.is("one") != "aborted 0%" {
		t.Errorf("got %v, %s: it acts all the same", err, r.is("one"))
	}
	for range 5 {
		r.tick()
	}
	if len(r.said) != 2 || !strings.Contains(r.said[1], "alert: keeping the state of rollouts: no space left") || tries != 6 {
		t.Errorf("said %q after %d tries", r.said, tries)
	}
	broken = false
	r.tick()
	r.tick()
	r.start()
	r.load(ofA)
	if r.is("one") != "aborted 0%" || tries != 7 {
		t.Errorf("got %s after %d tries", r.is("one"), tries)
	}
}
