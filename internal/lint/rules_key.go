package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
)

// keyRules are about whom a limit counts.
func keyRules() []Rule {
	return []Rule{
		{ID: "key-forwarded", Severity: Error, Title: "a key that is a header of claimed addresses",
			Why:     "Who writes another X-Forwarded-For into each request has a fresh budget each time, so the limit holds only those who are honest.",
			Mend:    "Trust your proxies with set_real_ip_from and real_ip_header, and count $binary_remote_addr or $binary_client_network.",
			Example: "set_real_ip_from 10.0.0.0/8;\nreal_ip_header X-Forwarded-For;\nreal_ip_recursive on;\nlimit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findForwarded},
		{ID: "key-chosen", Severity: Warning, Title: "a key that a client can choose",
			Why:     "A client that changes its header, cookie or argument with each request is a new client to the limit each time.",
			Mend:    "Put a limit by address beside it, or let a map give a key only to values that you know.",
			Example: "map $http_x_api_key $customer { default \"\"; k1 alice; k2 bob; }\nlimit_req_zone $customer zone=customer:10m rate=10r/s;",
			find:    findChosen},
		{ID: "key-may-be-empty", Severity: Warning, Title: "a key that may be empty",
			Why:     "A request whose key is empty is not counted at all: who leaves the header out has no limit.",
			Mend:    "Let a map put the client's address in the place of an empty value, or limit by address beside it.",
			Example: "map $http_x_api_key $key { default $http_x_api_key; \"\" $binary_remote_addr; }",
			find:    findEmpty},
		{ID: "key-too-early", Severity: Error, Title: "a key that is not known yet when limits are decided",
			Why:     "Limits are decided before an upstream is asked and before an answer exists, so the key is always empty and nobody is counted.",
			Mend:    "Count something of the request.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findEarly},
		{ID: "key-unique", Severity: Error, Title: "a key that is another one with each request or connection",
			Why:     "Whoever comes again is counted anew, so that nobody ever reaches the limit and the zone fills with keys of no use.",
			Mend:    "Count what stays the same for a client.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findUnique},
		{ID: "key-without-dollar", Severity: Error, Title: "the name of a variable without its dollar sign as a key",
			Why:     "The key is the same text for everybody, so that all clients share the budget of one.",
			Mend:    "Write the dollar sign.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findNoDollar},
		{ID: "key-constant", Severity: Info, Title: "a key that is the same for all clients",
			Why:     "One client that asks often enough uses up the budget of everybody.",
			Mend:    "Fine as a lid on the whole service; put a limit by client below it.",
			Example: "limit_req zone=per_client burst=20 nodelay;\nlimit_req zone=all burst=1000 nodelay;",
			find:    findConstant},
		{ID: "key-flag", Severity: Error, Title: "a flag of map or geo as a key",
			Why:     "A flag has two values, so everybody shares two budgets, and those who should be exempt are counted too: only an empty key is not.",
			Mend:    "Let a map turn the flag into an address or into nothing.",
			Example: "geo $limited { default 1; 10.0.0.0/8 0; }\nmap $limited $key { 0 \"\"; 1 $binary_remote_addr; }",
			find:    findFlag},
		{ID: "key-text-address", Severity: Info, Title: "an address as text where its binary form would do",
			Why:     "In nginx each key of a text takes more of the zone, and so fewer clients fit.",
			Mend:    "Count $binary_remote_addr. Here it makes no difference: a key is a fingerprint.",
			Example: "limit_req_zone $binary_remote_addr zone=one:10m rate=10r/s;",
			find:    findText},
		{ID: "key-ipv6-whole", Severity: Info, Title: "IPv6 clients counted by single addresses",
			Why:     "Every IPv6 customer has a /64 at least and can use another address for each request, each with a budget of its own.",
			Mend:    "Count $binary_client_network, which is the /64; in nginx a map on $remote_addr can cut it.",
			Example: "limit_req_zone $binary_client_network zone=one:10m rate=10r/s;",
			find:    findWholeV6},
	}
}

func findForwarded(m *model, say report) {
	for _, z := range m.zones {
		for _, name := range m.parts(z.key.Text) {
			if claimed(name) {
				say(z.at, fmt.Sprintf("zone %q counts by $%s, which the client writes", z.name, name))
			}
		}
	}
}

func findChosen(m *model, say report) {
	for _, z := range m.zones {
		for _, name := range m.parts(z.key.Text) {
			if chosen(name) && !claimed(name) && m.unguarded(z, firm) && !m.checkedBefore(z, name) && !onePath(z, name) {
				say(z.at, fmt.Sprintf("zone %q counts by $%s, which the client chooses", z.name, name))
			}
		}
	}
}

// onePath reports whether a variable is the path, and each place that the zone limits has only one.
func onePath(z *zone, name string) bool {
	return (name == "uri" || name == "document_uri") && len(z.uses) > 0 && !slices.ContainsFunc(z.uses, func(l *limit) bool {
		return l.scope.Place == nil || l.scope.Place.Modifier != conf.Exact
	})
}

func findEmpty(m *model, say report) {
	for _, z := range m.zones {
		direct := names(z.key.Text)
		if mayBeEmpty(z) && m.unguarded(z, filled) {
			say(z.at, fmt.Sprintf("zone %q counts by $%s, and no request without it", z.name, direct[0]))
		}
	}
}

// mayBeEmpty reports whether a key is nothing but values that a client may leave out. What a map makes empty is meant to be.
func mayBeEmpty(z *zone) bool {
	direct := names(z.key.Text)
	if len(direct) == 0 || strings.Trim(z.key.Text, "$_{}abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") != "" {
		return false
	}
	return !slices.ContainsFunc(direct, func(name string) bool {
		return !strings.HasPrefix(name, "http_") && !strings.HasPrefix(name, "arg_") && !strings.HasPrefix(name, "cookie_") &&
			!strings.HasPrefix(name, "ssl_client_") && name != "remote_user" && name != "args" && name != "query_string" &&
			name != "proxy_protocol_addr"
	})
}

// firm reports whether a client can't change its key.
func firm(m *model, z *zone) bool { return !slices.ContainsFunc(m.parts(z.key.Text), chosen) }

// checkedBefore reports whether, wherever a zone limits, a condition turns requests away by what a map makes of the same
// variable: rewriting comes before limits, so only known values are left.
func (m *model) checkedBefore(z *zone, name string) bool {
	for _, l := range z.uses {
		checked := false
		for s := l.scope; s != nil; s = s.Parent {
			checked = checked || slices.ContainsFunc(s.Children, func(c *conf.Scope) bool {
				return c.Kind&(conf.IfServer|conf.IfLocation) != 0 && len(c.Own("return")) > 0 && m.asksFor(c.Opener, name)
			})
		}
		if !checked {
			return false
		}
	}
	return len(z.uses) > 0
}

// asksFor reports whether a condition asks for a variable that a map makes of another.
func (m *model) asksFor(condition *conf.Directive, name string) bool {
	for _, w := range condition.Args {
		for _, made := range names(w.Text) {
			if v := m.vars[made]; v != nil && slices.Contains(names(v.source), name) {
				return true
			}
		}
	}
	return false
}

// filled reports whether a key is not empty where the client wishes.
func filled(_ *model, z *zone) bool { return !mayBeEmpty(z) }

// unguarded reports whether the zone limits somewhere without another limit beside it that is as it should be.
func (m *model) unguarded(z *zone, good func(*model, *zone) bool) bool {
	if len(z.uses) == 0 {
		return true
	}
	of := rateKinds()
	if z.kind == byConn {
		of = kinds()
	}
	for _, l := range z.uses {
		if !slices.ContainsFunc(m.limitsAt(l.scope, of...), func(beside *limit) bool { return beside.zone != z && good(m, beside.zone) }) {
			return true
		}
	}
	return false
}

func findEarly(m *model, say report) {
	for _, z := range m.zones {
		for _, name := range names(z.key.Text) {
			if late(name) {
				say(z.at, fmt.Sprintf("zone %q counts by $%s, which is empty when limits are decided", z.name, name))
			}
		}
	}
}

func findUnique(m *model, say report) {
	for _, z := range m.zones {
		for _, name := range m.parts(z.key.Text) {
			if unique(name) {
				say(z.at, fmt.Sprintf("zone %q counts by $%s, which does not come again", z.name, name))
			}
		}
	}
}

// late reports whether a variable is of the upstream or of the answer.
func late(name string) bool {
	switch name {
	case "proxy_host", "proxy_port", "limit_req_status", "limit_conn_status", "limit_count_status", "limit_token_status", "limit_conn_limit":
		return true
	}
	return strings.HasPrefix(name, "upstream_") || strings.HasPrefix(name, "sent_http_") || strings.HasPrefix(name, "sent_trailer_")
}

func findNoDollar(m *model, say report) {
	for _, z := range m.zones {
		name := strings.ToLower(z.key.Text)
		known := byAddress(name) || claimed(name) || name == "server_name" || name == "host" || name == "uri" || name == "request_uri" || m.vars[name] != nil
		if known {
			say(z.at, fmt.Sprintf("the key of zone %q is the text %q, not the variable $%s", z.name, z.key.Text, name))
		}
	}
}

func findConstant(m *model, say report) {
	for _, z := range m.zones {
		if ofEverybody(z) && !m.lid(z) {
			say(z.at, fmt.Sprintf("zone %q has one budget for all clients of %s", z.name, z.key.Text))
		}
	}
}

// ofEverybody reports whether a key is the same for all clients of a server.
func ofEverybody(z *zone) bool {
	direct := names(z.key.Text)
	server := len(direct) == 1 && (direct[0] == "server_name" || direct[0] == "host" || direct[0] == "server_port" || direct[0] == "server_addr")
	return len(direct) == 0 || server
}

// lid reports whether a zone for everybody is only a lid: wherever it limits, each client has less beside it.
func (m *model) lid(z *zone) bool {
	of := rateKinds()
	if z.kind == byConn {
		of = []kind{byConn}
	}
	return len(z.uses) > 0 && !slices.ContainsFunc(z.uses, func(all *limit) bool {
		return !slices.ContainsFunc(m.limitsAt(all.scope, of...), func(l *limit) bool {
			return l.zone.elsewhere || m.perClient(l.zone) && firm(m, l.zone) && less(l, all)
		})
	})
}

// less reports whether a limit allows less than another one, as far as the two can be compared.
func less(a, b *limit) bool {
	switch {
	case a.kind == byConn:
		return a.places < b.places
	case a.kind == byReq && b.kind == byReq && a.zone.rateFrom == "" && b.zone.rateFrom == "":
		return a.zone.rate.Thousandths() < b.zone.rate.Thousandths()
	}
	return true
}

func findFlag(m *model, say report) {
	for _, z := range m.zones {
		direct := names(z.key.Text)
		if len(direct) != 1 || strings.Trim(z.key.Text, "${}") != strings.Trim(z.key.Text[strings.IndexByte(z.key.Text, '$'):], "${}") {
			continue
		}
		v := m.vars[direct[0]]
		if v == nil || !v.flags || len(v.results) < 2 || !v.hasDefault {
			continue
		}
		flags := !slices.ContainsFunc(v.results, func(r string) bool { return !slices.Contains(flagWords(), strings.ToLower(r)) })
		if flags {
			say(z.at, fmt.Sprintf("zone %q counts by $%s, which is only ever %s", z.name, direct[0], strings.Join(distinct(v.results), " or ")))
		}
	}
}

func flagWords() []string {
	return []string{"0", "1", "on", "off", "yes", "no", "true", "false"}
}

func distinct(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

func findText(m *model, say report) {
	for _, z := range m.zones {
		if slices.Contains(m.parts(z.key.Text), "remote_addr") {
			say(z.at, fmt.Sprintf("zone %q counts by $remote_addr; $binary_remote_addr says the same in 4 or 16 bytes", z.name))
		}
	}
}

func findWholeV6(m *model, say report) {
	if !m.listensOnV6() {
		return
	}
	for _, z := range m.zones {
		for _, name := range m.parts(z.key.Text) {
			if name == "remote_addr" || name == "binary_remote_addr" {
				say(z.at, fmt.Sprintf("zone %q counts by $%s, and a server listens on IPv6", z.name, name))
			}
		}
	}
}

func (m *model) listensOnV6() bool {
	return slices.ContainsFunc(m.listens, func(l listen) bool { return l.Addr.Is6() && !l.Addr.IsLoopback() })
}
