package replay

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/limitgate/limitgate/internal/conf"
	"github.com/limitgate/limitgate/internal/vars"
)

// answer is the report in one sentence.
func answer(out *Report) string {
	s := verdictText(out)
	l := &out.Log
	switch {
	case l.Back > 0:
		s += ", which can't be relied on: the log goes back in time; put its lines in order, or give its parts as files of their own"
	case l.Late*1000 > out.Requests:
		s += fmt.Sprintf(", which can't be relied on: %s of the requests stand far behind later ones", Percent(l.Late, out.Requests))
	}
	return s
}

func verdictText(out *Report) string {
	b, n := out.Total.Rejected, out.Requests
	if len(out.Zones) == 0 {
		return fmt.Sprintf("this configuration has no limits, and would have refused none of %s", count(n, "request"))
	}
	if b.Max == 0 {
		s := fmt.Sprintf("this configuration would have refused none of %s", count(n, "request"))
		if d := out.Total.DryRejected; d.Max > 0 {
			s += fmt.Sprintf("; its limits in dry run would have refused %s", bandText(d, n))
		}
		return s
	}
	return fmt.Sprintf("this configuration would have refused %s", bandText(b, n))
}

// bandText writes "1.3 % (412 of 31,204 requests)".
func bandText(b Band, of int64) string {
	if b.Min == b.Max {
		return fmt.Sprintf("%s (%s of %s)", Percent(b.Max, of), Number(b.Max), count(of, "request"))
	}
	return fmt.Sprintf("between %s and %s (%s to %s of %s)", Percent(b.Min, of), Percent(b.Max, of), Number(b.Min), Number(b.Max), count(of, "request"))
}

// Percent writes a share with as many digits as tell it from nothing and from everything.
func Percent(n, of int64) string {
	if of == 0 || n == 0 {
		return "0 %"
	}
	share := float64(n) / float64(of) * 100
	switch {
	case n == of:
		return "100 %"
	case share < 0.001:
		return "< 0.001 %"
	case share < 0.1:
		return strconv.FormatFloat(share, 'f', 3, 64) + " %"
	case share > 99.9:
		return "> 99.9 %"
	}
	return strconv.FormatFloat(share, 'f', 1, 64) + " %"
}

// Number writes a number with commas between thousands.
func Number(n int64) string {
	s := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(s) - 3; i > from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count writes "1 request" and "2 requests".
func count(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(n) + " " + what + "s"
}

// notes says what the log does not tell, and what that does to the numbers.
func (r *Replay) notes(out *Report) []Note {
	c := &r.intake.counts
	list := []Note{}
	add := func(id, format string, args ...any) { list = append(list, Note{id, fmt.Sprintf(format, args...)}) }
	if len(out.Assumed) > 1 {
		add("band", "the log stamps whole seconds, in which requests may have come at any instant: what is told as a band was decided three times, as if they came %s, %s, and %s", spreadNames[0], spreadNames[1], spreadNames[2])
	}
	if c.rough > 0 {
		add("rough", "%s in a log of finer stamps had a stamp of whole seconds: they are spread evenly over their second", count(c.rough, "line"))
	}
	if c.late > 0 {
		add("late", "%s came too far out of order to be put in their place: they are decided with later ones, by up to %s later than they came", count(c.late, "request"), count(1+c.latest/second, "second"))
	}
	if c.stray > 0 {
		add("stray", "%s stamped far in the future of the lines that follow: they are left out", count(c.stray, "line"))
	}
	if c.back > 0 {
		add("back", "the log goes far back in time, %s: states of limits are those of later requests there", count(c.back, "time"))
	}
	if c.garbage > 0 {
		add("garbage", "%s had something else than a request line, as of clients that speak no HTTP: they meet no limit", count(c.garbage, "line"))
	}
	if c.pathless > 0 {
		add("path", "the log does not tell what %s asked for: they are taken to ask for /", count(c.pathless, "request"))
	}
	if c.nameless > 0 {
		add("address", "the log does not tell the address of %s: they are one client", count(c.nameless, "request"))
	}
	if c.hostless > 0 && r.options.Host == "" && r.servers() > 1 {
		add("host", "the log does not tell the host of %s: the first server that does more than to send clients elsewhere answered them; --host NAME names another", count(c.hostless, "request"))
	}
	if ports := r.ports(); c.portless > 0 && r.options.Port == 0 && len(ports) > 1 {
		add("port", "the log does not tell to which port %s came, of %s: each is taken to come to the first server of its name that does more than to send clients elsewhere; --port N names the port", count(c.portless, "request"), strings.Join(ports, ", "))
	}
	var hastened int64
	for _, n := range r.runs {
		hastened += n.hastened
	}
	if hastened > 0 {
		add("wait", "more requests waited for the end of their delays than are kept: %s were asked for their places of limit_conn too early", count(hastened, "decision"))
	}
	r.lacks(add)
	for _, z := range out.Zones {
		switch crowd := r.runs[0].gate.Crowding(z.Name); {
		case crowd.Forgotten > 0:
			add("zone", "zone %s is too small for this traffic: %s in force gave way to others, as in the gateway; with more room more would be refused", z.Name, count(crowd.Forgotten, "state"))
		case crowd.Refused > 0:
			add("zone", "zone %s is too small for this traffic: %s of new keys for want of room are among the refusals", z.Name, count(crowd.Refused, "refusal"))
		}
		if z.Directive == "limit_conn" && z.Asked.Max > 0 && c.timed == 0 {
			add("duration", "zone %s counts requests at once, and the log does not tell how long they took: each is over at once, so that this zone refuses none", z.Name)
		}
	}
	return list
}

func (r *Replay) servers() (n int) {
	r.plan.configs[0].first.Config.Main.Walk(func(s *conf.Scope) {
		if s.Kind == conf.Server {
			n++
		}
	})
	return n
}

func (r *Replay) ports() (list []string) {
	for _, l := range r.plan.configs[0].first.Program.Listens() {
		if p := strconv.Itoa(l.Port); l.Unix == "" && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	return list
}

// lacks tells of what the configuration asks for and the log does not tell: the gateway finds it empty, or as a request without
// it has it.
func (r *Replay) lacks(add func(id, format string, args ...any)) {
	have := map[string]bool{}
	open := false
	for _, s := range r.intake.met {
		open = open || s.Open
		for _, v := range s.Variables {
			have[v] = true
		}
	}
	if open {
		return // later lines may have anything
	}
	c := r.plan.configs[0].first
	maps := mapSources(c.Config)
	told := map[string]bool{}
	if r.options.Host != "" {
		have["host"] = true
	}
	if r.options.Port != 0 {
		have["server_port"] = true
	}
	for _, z := range c.Zones {
		plain := uses(z.Key, nil)
		for _, v := range uses(z.Key, maps) {
			switch {
			case !unlogged(v, have) || told[v]:
				continue
			case len(plain) == 1 && plain[0] == v && z.Key == "$"+v && sent(v):
				add("field", "the key of zone %s is $%s, which the log does not have: it is empty, and a request with an empty key is not counted", z.Name, v)
			default:
				add("field", "the key of zone %s depends on $%s, which the log does not have: it is what it is for requests without", z.Name, v)
			}
			told[v] = true
		}
	}
	for _, v := range r.asks(maps) {
		if unlogged(v, have) && !told[v] {
			told[v] = true
			add("field", "the configuration looks at $%s, which the log does not have: what depends on it is decided as for requests without", v)
		}
	}
}

// asks lists the variables on which limits and the ways to them may depend, those behind maps too.
func (r *Replay) asks(maps map[string]string) (list []string) {
	r.plan.configs[0].first.Config.Main.Walk(func(s *conf.Scope) {
		for _, kind := range [...]string{"limit_req_zone", "limit_conn_zone", "limit_count_zone", "limit_token_zone", "limit_req", "limit_conn", "limit_count", "if", "set", "rewrite"} {
			for _, d := range s.Own(kind) {
				for i := range d.Args {
					text := strings.Trim(d.Arg(i), "()")
					if _, value, found := strings.Cut(text, "="); found && strings.HasSuffix(kind, "_zone") {
						text = value // of rate=$r
					}
					for _, v := range uses(text, maps) {
						if !slices.Contains(list, v) {
							list = append(list, v)
						}
					}
				}
			}
		}
	})
	return list
}

// unlogged tells whether a variable has a value that only a log could tell, and the log does not.
func unlogged(v string, have map[string]bool) bool {
	switch v {
	case "host", "http_host":
		return !have["host"] && !have["http_host"] && !have["server_name"]
	case "scheme", "https", "server_port":
		return !have["scheme"] && !have["server_port"]
	case "remote_port", "connection", "connection_requests", "ssl_cipher", "ssl_protocol", "ssl_session_id":
		return true // it is not taken over
	case "remote_addr", "binary_remote_addr":
		return !have["remote_addr"] && !have["binary_remote_addr"]
	}
	return sent(v) && !have[v]
}

// sent tells whether a variable is something that a client sends and a log may lack.
func sent(v string) bool {
	switch v {
	case "remote_user", "ssl_client_s_dn", "ssl_client_fingerprint", "ssl_client_serial", "request_body", "ssl_server_name", "proxy_protocol_addr":
		return true
	}
	return strings.HasPrefix(v, "http_") && v != "http_host" || strings.HasPrefix(v, "cookie_")
}

// mapSources are the texts that variables of map and geo come from.
func mapSources(cfg *conf.Config) map[string]string {
	of := map[string]string{}
	http := cfg.HTTP()
	for _, d := range http.Own("map", "geo", "split_clients") {
		if n := len(d.Args); n == 2 {
			of[strings.ToLower(strings.TrimPrefix(d.Arg(1), "$"))] = d.Arg(0)
		}
	}
	return of
}

// uses lists the variables of a key, those behind maps too.
func uses(key string, maps map[string]string) []string {
	var list []string
	var walk func(text string, depth int)
	walk = func(text string, depth int) {
		pieces, err := vars.Split(text)
		if err != nil || depth > 20 {
			return
		}
		for _, p := range pieces {
			v := strings.ToLower(p.Variable)
			switch {
			case v == "" || slices.Contains(list, v):
			case maps[v] != "":
				walk(maps[v], depth+1)
			default:
				list = append(list, v)
			}
		}
	}
	walk(key, 0)
	return list
}
