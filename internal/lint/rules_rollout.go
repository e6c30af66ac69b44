package lint

import (
	"fmt"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/rollout"
)

// rolloutRules are about limits that are switched on step by step.
func rolloutRules() []Rule {
	const block = "limit_rollout login { zones login; steps 1% 5% 25% 100%; stop rejected_share > 2%; }"
	return []Rule{
		{ID: "rollout-zone-unused", Severity: Warning, Title: "a rollout of a zone that no limit uses",
			Why:     "Nothing is enforced at any step, and the rollout waits for requests that never come.",
			Mend:    "Use the zone where it was meant, or name the one that is used.",
			Example: block,
			find:    findRolloutUnused},
		{ID: "rollout-canary", Severity: Warning, Title: "canary= on a limit that a rollout switches on",
			Why:     "The rollout says for how many keys the limit is enforced; canary= says nothing any more.",
			Mend:    "Remove canary=, or take the zone out of the rollout.",
			Example: "limit_req zone=login burst=5 nodelay;",
			find:    findRolloutCanary},
		{ID: "rollout-dry-run", Severity: Warning, Title: "a rollout of a limit in dry run",
			Why:     "Dry run comes before the rollout: no step enforces anything, and the rollout stays where it is.",
			Mend:    "Remove the dry run: the rollout begins with few keys, or with none where its first step is 0%.",
			Example: "limit_rollout login { zones login; steps 0% 1% 5% 25% 100%; stop rejected_share > 2%; }",
			find:    findRolloutDryRun},
		{ID: "rollout-steps", Severity: Warning, Title: "a rollout whose steps do not rise",
			Why:     "A step that is not above the one before lets keys go again that were limited, or changes nothing.",
			Mend:    "Write the steps from the smallest to the largest.",
			Example: block,
			find:    findRolloutSteps},
		{ID: "rollout-unfinished", Severity: Info, Title: "a rollout that ends below 100%",
			Why:     "The keys beyond the last step are never limited, and nobody says so once the rollout is complete.",
			Mend:    "End with 100%; to stay at a part, canary= says it at the limit itself.",
			Example: block,
			find:    findRolloutUnfinished},
		{ID: "rollout-stop-idle", Severity: Warning, Title: "a stop condition that can never hold",
			Why:     "No share is above 100%: whatever goes wrong, the rollout does not go back.",
			Mend:    "Write the share that is too much.",
			Example: "stop rejected_share > 2%;",
			find:    findRolloutIdle},
		{ID: "rollout-unstoppable", Severity: Info, Title: "a rollout without a stop condition",
			Why:     "It goes on to its last step whatever it does to those who are limited.",
			Mend:    "Write what is too much: refusals, errors, or times.",
			Example: block,
			find:    findRolloutUnstoppable},
	}
}

// eachRollout calls visit for each limit_rollout that has no fault.
func (m *model) eachRollout(visit func(d *conf.Directive, p *rollout.Plan)) {
	http := m.cfg.HTTP()
	if http == nil {
		return
	}
	for _, d := range http.Own("limit_rollout") {
		if p, good := conf.ReadLimitRollout(d, &conf.Errors{}); good {
			visit(d, &p)
		}
	}
}

func findRolloutUnused(m *model, say report) {
	if !m.whole {
		return // what it is part of may use it
	}
	used := map[string]bool{}
	for _, l := range m.limits {
		used[l.zone.name] = true
	}
	m.eachRollout(func(d *conf.Directive, p *rollout.Plan) {
		for _, line := range d.Block.Own("zones") {
			for _, a := range line.Args {
				if !used[a.Text] {
					say(a.Pos, fmt.Sprintf("no limit uses zone %q of rollout %q", a.Text, p.Name))
				}
			}
		}
	})
}

// rolledOut calls visit for each limit of a rollout, and the name of that.
func (m *model) rolledOut(visit func(l *limit, name string)) {
	http := m.cfg.HTTP()
	for _, l := range m.limits {
		if name := conf.RolloutOf(http, l.zone.name); name != "" {
			visit(l, name)
		}
	}
}

func findRolloutCanary(m *model, say report) {
	m.rolledOut(func(l *limit, name string) {
		if l.canary.Set {
			say(l.at, fmt.Sprintf("rollout %q says for how many keys zone %q is enforced, not canary=%s", name, l.zone.name, l.canary.Share))
		}
	})
}

func findRolloutDryRun(m *model, say report) {
	m.rolledOut(func(l *limit, name string) {
		for _, s := range append(m.ends(l), l.scope) {
			if flag(s, string(l.kind)+"_dry_run") {
				say(l.at, fmt.Sprintf("%s of zone %q is in dry run in %s, so rollout %q enforces nothing there", l.kind, l.zone.name, where(s), name))
				return
			}
		}
	})
}

func findRolloutSteps(m *model, say report) {
	m.eachRollout(func(d *conf.Directive, p *rollout.Plan) {
		for i, s := range p.Steps[1:] {
			if s <= p.Steps[i] {
				at := d.Block.Own("steps")[0]
				say(at.At(i+1), fmt.Sprintf("the step of %s in rollout %q comes behind %s", s, p.Name, p.Steps[i]))
			}
		}
	})
}

func findRolloutUnfinished(m *model, say report) {
	m.eachRollout(func(d *conf.Directive, p *rollout.Plan) {
		if last := p.Steps[len(p.Steps)-1]; last < rollout.Whole {
			say(d.Block.Own("steps")[0].Pos, fmt.Sprintf("rollout %q ends at %s: the other keys are never limited", p.Name, last))
		}
	})
}

func findRolloutIdle(m *model, say report) {
	m.eachRollout(func(d *conf.Directive, p *rollout.Plan) {
		for i, line := range d.Block.Own("stop") {
			if p.Stops[i].Idle() {
				say(line.Pos, fmt.Sprintf("%s never holds", p.Stops[i]))
			}
		}
	})
}

func findRolloutUnstoppable(m *model, say report) {
	m.eachRollout(func(d *conf.Directive, p *rollout.Plan) {
		if len(p.Stops) == 0 {
			say(d.Pos, fmt.Sprintf("nothing stops rollout %q on its way to %s", p.Name, p.Steps[len(p.Steps)-1]))
		}
	})
}
