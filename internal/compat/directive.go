package compat

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/conf/syntax"
)

// maxConn is the largest number that nginx's limit_conn takes.
const maxConn = 65535

// directive edits one directive, if nginx would not take it as it is.
func (e *exporter) directive(d *syntax.Directive) {
	if e.beyond[d.Name] {
		e.remove(d)
		means := map[string]string{
			"limit_decision": "; what was only decided on is served there, so keep its servers from those who ask",
			"limit_rollout":  "; its limits are enforced for all keys, whatever step it was at",
		}[d.Name]
		e.change(d, "%s is left out: nginx does not have it%s", d.Name, means)
		return
	}
	args, notes, keep := texts(d.Args), []string(nil), true
	switch d.Name {
	case "limit_req_zone":
		args, notes, keep = e.reqZone(d)
	case "limit_req":
		args, notes, keep = e.req(d)
	case "limit_conn":
		args, notes = conn(args)
	case "server": // of an upstream: the other kind has no arguments
		args = slices.DeleteFunc(args, func(a string) bool { return strings.HasPrefix(a, "slow_start=") })
		if len(args) < len(d.Args) {
			notes = []string{"slow_start is in nginx's commercial version only"}
		}
	}
	if !keep {
		e.remove(d)
		e.change(d, "%s is left out: %s", d.Name, strings.Join(notes, "; "))
		return
	}
	notes = append(notes, e.variables(args)...)
	if slices.Equal(args, texts(d.Args)) {
		return
	}
	e.rewrite(d, args)
	e.change(d, "%s: %s", d.Name, strings.Join(notes, "; "))
}

// lacks says that nginx has no such parameter.
func lacks(parameter string) string {
	note := "nginx does not have " + parameter
	if strings.HasPrefix(parameter, "canary=") {
		note += ", the limit is enforced for all keys"
	}
	return note
}

// row edits one row of a map or geo block.
func (e *exporter) row(d *syntax.Directive) {
	args := texts(d.Args)
	if notes := e.variables(args); len(notes) > 0 {
		e.rewrite(d, args)
		e.change(d, "%s", strings.Join(notes, "; "))
	}
}

func texts(words []syntax.Word) []string {
	var list []string
	for _, w := range words {
		list = append(list, w.Text)
	}
	return list
}

func zoneName(d *syntax.Directive) string {
	for _, w := range d.Args {
		if z, is := strings.CutPrefix(w.Text, "zone="); is {
			name, _, _ := strings.Cut(z, ":")
			return name
		}
	}
	return ""
}

// reqZone returns the arguments of limit_req_zone as nginx takes them, what changed in words, and false where nginx can't
// have such a zone.
func (e *exporter) reqZone(d *syntax.Directive) (args, notes []string, keep bool) {
	for i, a := range texts(d.Args) {
		text, isRate := strings.CutPrefix(a, "rate=")
		switch {
		case i == 0 || strings.HasPrefix(a, "zone="):
		case !isRate:
			notes = append(notes, lacks(a))
			continue
		default:
			constant, ok := e.constant(text)
			if _, err := limitgate.ParseRate(constant); !ok || err != nil {
				return nil, []string{"nginx takes no variables in rate=, and " + text + " has no constant default that is a rate"}, false
			}
			rate, change := nginxRate(constant)
			if constant != text {
				change = "nginx takes no variables in rate=; it becomes the default of " + text + ", " + rate
			}
			if change != "" {
				notes = append(notes, change)
			}
			a = "rate=" + rate
		}
		args = append(args, a)
	}
	return args, notes, true
}

// nginxRate writes a rate in nginx's whole numbers a second or a minute, never above what was written unless nginx has
// nothing as low; change says what became of it.
func nginxRate(text string) (rate, change string) {
	number, unit, _ := strings.Cut(text, "r/")
	if _, err := strconv.ParseUint(number, 10, 64); err == nil && (unit == "s" || unit == "m" || unit == "") {
		return text, ""
	}
	r, err := limitgate.ParseRate(text)
	if err != nil {
		return text, "" // Load has accepted it: this is not reached
	}
	n, per := r.Millionths()
	inMinutes, one := n*60, int64(per/time.Second)*1_000_000 // at most 10^6 a second over a day: below 2^63
	minute := inMinutes / one
	if minute == 0 {
		return "1r/m", "rate=" + text + " becomes 1r/m, which is more: nginx has no lower rate"
	}
	rate = strconv.FormatInt(minute, 10) + "r/m"
	if inMinutes%one == 0 {
		return rate, "rate=" + text + " becomes " + rate
	}
	return rate, "rate=" + text + " becomes " + rate + ": nginx counts in whole numbers a minute"
}

// req returns the arguments of limit_req as nginx takes them.
func (e *exporter) req(d *syntax.Directive) (args, notes []string, keep bool) {
	if z := zoneName(d); e.gone[z] {
		return nil, []string{"its zone " + z + " is left out"}, false
	}
	for _, a := range texts(d.Args) {
		name, value, assigned := strings.Cut(a, "=")
		switch {
		case name == "zone", a == "nodelay":
		case assigned && (name == "burst" || name == "delay"):
			kept, note := e.requests(name, value)
			if note != "" {
				notes = append(notes, note)
			}
			if a = kept; a == "" {
				continue
			}
		default:
			notes = append(notes, lacks(a))
			continue
		}
		args = append(args, a)
	}
	return args, notes, true
}

// requests returns burst= or delay= with a number that nginx takes: from 1 on; none means what holds without it.
func (e *exporter) requests(name, value string) (kept, note string) {
	constant, _ := e.constant(value)
	if constant == value {
		return name + "=" + value, ""
	}
	note = "nginx takes no variables in " + name + "="
	n, ok := conf.ParseInt(constant)
	switch {
	case name == "delay" && constant == "nodelay":
		return "nodelay", note + "; it becomes the default of " + value + ", nodelay"
	case !ok || n == 0:
		return "", note + "; it is left out"
	}
	return name + "=" + constant, note + "; it becomes the default of " + value + ", " + constant
}

// conn returns the arguments of limit_conn as nginx takes them.
func conn(args []string) (kept, notes []string) {
	kept = args[:min(2, len(args))]
	for _, a := range args[len(kept):] {
		if strings.HasPrefix(a, "canary=") {
			notes = append(notes, lacks(a))
		}
	}
	if n, err := strconv.Atoi(kept[len(kept)-1]); err == nil && n > maxConn {
		return []string{kept[0], strconv.Itoa(maxConn)}, append(notes, "nginx counts to "+strconv.Itoa(maxConn)+", not "+strconv.Itoa(n))
	}
	return kept, notes
}

// constant returns text if it has no variables, or the default of the map that it is the variable of. Otherwise it returns "".
func (e *exporter) constant(text string) (string, bool) {
	if !strings.Contains(text, "$") {
		return text, true
	}
	name := strings.NewReplacer("{", "", "}", "").Replace(strings.ToLower(text))
	for _, row := range e.maps[name] {
		if row.Name == "default" && len(row.Args) == 1 && !strings.Contains(row.Args[0].Text, "$") {
			return row.Args[0].Text, true
		}
	}
	return "", false
}
