package conf

import (
	"net/url"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/rollout"
)

// Canary is the canary= of a limit: for how much of its keys it is enforced, where it is Set.
type Canary struct {
	Set   bool
	Share rollout.Share
}

// canary reads it.
func (p *parameters) canary(a Word, value string) Canary {
	s, err := rollout.ParseShare(value)
	if err != nil {
		p.invalid(a, "canary", err.Error())
	}
	return Canary{true, s}
}

// ReadLimitRollout reads a limit_rollout block.
func ReadLimitRollout(d *Directive, errs *Errors) (rollout.Plan, bool) {
	plan := rollout.Defaults()
	plan.Name = d.Arg(0)
	p := &parameters{d: d, errs: errs, ok: true}
	if plan.Name == "" || hasVariable(plan.Name) || strings.Contains(plan.Name, "=") {
		p.fault(d.At(0), `"limit_rollout" must have a name`, d.usage())
		return plan, false
	}
	for _, line := range d.Block.Directives {
		p.rolloutLine(line, &plan)
	}
	if !p.ok {
		return plan, false
	}
	if err := plan.Validate(); err != nil {
		p.fault(d.Pos, `limit_rollout "`+plan.Name+`": `+err.Error(), "docs/rollout.md has an example")
	}
	return plan, p.ok
}

// rolloutLine reads one directive of the block.
func (p *parameters) rolloutLine(d *Directive, plan *rollout.Plan) {
	switch d.Name {
	case "zones":
		for _, a := range d.Args {
			if slices.Contains(plan.Zones, a.Text) {
				p.fault(a.Pos, `the zone "`+a.Text+`" is named twice`, "")
			}
			plan.Zones = append(plan.Zones, a.Text)
		}
	case "steps":
		for _, a := range d.Args {
			s, err := rollout.ParseShare(a.Text)
			if err != nil {
				p.fault(a.Pos, `invalid step "`+a.Text+`"`, err.Error())
			}
			plan.Steps = append(plan.Steps, s)
		}
	case "interval", "window":
		t, ok := d.Duration(p.errs, 0)
		p.ok = p.ok && ok
		if d.Name == "interval" {
			plan.Interval = t
		} else {
			plan.Window = t
		}
	case "min_requests":
		n, ok := d.Int(p.errs, 0)
		p.ok = p.ok && ok
		plan.MinRequests = uint64(n)
	case "stop":
		if s, ok := readStop(d, p.errs); ok {
			plan.Stops = append(plan.Stops, s)
		} else {
			p.ok = false
		}
	case "webhook":
		plan.Webhook = d.Arg(0)
		p.ok = p.ok && checkWebhook(d, p.errs)
	}
}

// readStop reads a stop condition, which may be one word or several.
func readStop(d *Directive, errs *Errors) (rollout.Stop, bool) {
	words := make([]string, len(d.Args))
	for i, a := range d.Args {
		words[i] = a.Text
	}
	s, err := rollout.ParseStop(strings.Join(words, " "), ParseDuration)
	if err != nil {
		errs.Add(d.Pos, `invalid stop condition "`+strings.Join(words, " ")+`"`, err.Error())
	}
	return s, err == nil
}

// checkWebhook reports an address that can't be posted to. It repeats nothing of it: such addresses hold secrets.
func checkWebhook(d *Directive, errs *Errors) bool {
	u, err := url.Parse(d.Arg(0))
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || hasVariable(d.Arg(0)):
		errs.Add(d.At(0), `invalid address of "webhook"`, "write http://HOST/PATH or https://HOST/PATH, without variables")
		return false
	case u.User != nil:
		errs.Add(d.At(0), `the address of "webhook" has a user or a password in it`, "configurations are dumped and sent around: let the path of the address be hard to guess instead")
		return false
	}
	return true
}

// checkRollout reports a second rollout of one name.
func checkRollout(c *checker, d *Directive) {
	for _, other := range d.Scope.Own(d.Name) {
		if other != d && other.Arg(0) == d.Arg(0) {
			c.errs.Add(d.Pos, `the rollout "`+d.Arg(0)+`" is already declared`, "the first is at "+other.Pos.String())
			return
		}
	}
}

// rolloutClosed reads a block when its end was read.
func (c *checker) rolloutClosed(d *Directive) { ReadLimitRollout(d, c.errs) }

// rollouts checks, when all was read, that rollouts name zones of limits that there are, and each zone once.
func (c *checker) rollouts(http *Scope) {
	taken := map[string]*Directive{}
	for _, d := range http.Own("limit_rollout") {
		for _, line := range d.Block.Own("zones") {
			for _, a := range line.Args {
				c.rolledOut(d, a, taken)
			}
		}
	}
}

// rolledOut checks one zone of a rollout.
func (c *checker) rolledOut(d *Directive, a Word, taken map[string]*Directive) {
	z := c.zones.byName[a.Text]
	switch {
	case z == nil || z.declared == nil:
		c.errs.Late(AtStart, a.Pos, `unknown zone "`+a.Text+`" in limit_rollout "`+d.Arg(0)+`"`, "name a zone that limit_req_zone, limit_conn_zone, limit_count_zone or limit_token_zone declares")
	case z.use == forBytes:
		c.errs.Late(AtStart, a.Pos, `zone "`+a.Text+`" can't be in limit_rollout "`+d.Arg(0)+`": limit_bandwidth has no dry run`,
			"bytes that nobody waits for would be owed all the same; raise the rate of the zone, and lower it in steps")
	case z.use != forReq && z.use != forConn && z.use != forCount && z.use != forToken:
		c.errs.Late(AtStart, a.Pos, `zone "`+a.Text+`" in limit_rollout "`+d.Arg(0)+`" is of no limit`, "")
	case taken[a.Text] != nil && taken[a.Text] != d:
		c.errs.Late(AtStart, a.Pos, `zone "`+a.Text+`" is in limit_rollout "`+taken[a.Text].Arg(0)+`" already`, "a zone is rolled out once: take it out of one of them")
	}
	taken[a.Text] = d
}

// RolloutOf names the rollout that a zone is in; "" where it is in none.
func RolloutOf(http *Scope, zone string) string {
	for _, d := range http.Own("limit_rollout") {
		for _, line := range d.Block.Own("zones") {
			if slices.ContainsFunc(line.Args, func(a Word) bool { return a.Text == zone }) {
				return d.Arg(0)
			}
		}
	}
	return ""
}
