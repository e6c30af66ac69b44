package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// clockStart is where every schedule begins: long after the boot of the machine.
const clockStart = 10_000_000_000

// schedule is a random configuration and what is asked of it.
type schedule struct {
	http   string // SOCKET stands for the path of the socket
	events []asked
}

// asked is one request of a schedule.
type asked struct {
	at      int64
	stay    int64 // ms at the backend
	method  string
	uri     string
	headers [][2]string
}

// files are what there is to get. The location /free has no limits.
var files = []string{"/free", "/x", "/a/x", "/a/b/x", "/a/b/p.txt", "/a/exact", "/n/x", "/n/p.txt", "/p.txt"}

// dice makes a schedule.
type dice struct {
	*rand.Rand
	zones int
	slow  bool // some rate is below one a second
	keys  [][]string
}

func roll[T any](d *dice, of ...T) T { return of[d.IntN(len(of))] }

// makeSchedule makes the schedule of a number.
func makeSchedule(r *rand.Rand) schedule {
	d := &dice{Rand: r}
	d.zones = 1 + d.IntN(4)
	var s schedule
	var b strings.Builder
	b.WriteString("large_client_header_buffers 8 128k;\nlimit_req_log_level " + roll(d, "info", "notice", "warn", "error") + ";\n")
	for i := range d.zones {
		fmt.Fprintf(&b, "limit_req_zone %s zone=z%d:10m rate=%s;\n", d.key(i), i, d.rate())
	}
	b.WriteString(d.limits(3) + "server { listen unix:SOCKET; server_name h; root html;\n" + d.limits(2))
	b.WriteString("location = /free { limit_req zone=free burst=1000 nodelay; }\n")
	b.WriteString("location / { " + d.limits(2) + "}\n")
	b.WriteString("location /a/ { " + d.limits(2) + "\n\tlocation = /a/exact { " + d.limits(1) + "}\n\tlocation /a/b/ { " + d.limits(1) + "\n\t\tlocation ~ \\.txt$ { " + d.limits(2) + "} }\n}\n")
	b.WriteString("location ^~ /n/ { " + d.limits(1) + "}\nlocation ~ \\.txt$ { " + d.limits(1) + "}\n")
	b.WriteString("location /r/ { " + d.limits(1) + fmt.Sprintf("return %d; }\n}\n", roll(d, 204, 404, 418, 502)))
	b.WriteString("limit_req_zone $http_x_free zone=free:32k rate=1r/s;\n")
	s.http = b.String()
	d.keys = make([][]string, 4)
	for i := range d.keys {
		for range 1 + d.IntN(3) {
			d.keys[i] = append(d.keys[i], d.value())
		}
	}
	s.events = d.events()
	return s
}

// key is what a zone counts by.
func (d *dice) key(i int) string {
	own := fmt.Sprintf("$http_x_k%d", i)
	return roll(d, own, own, own, own, own+"$arg_k", `"a $arg_k b"`, "$uri", "$binary_remote_addr", "$host$request_method")
}

func (d *dice) rate() string {
	if d.IntN(3) == 0 {
		d.slow = true
		return fmt.Sprintf("%dr/m", roll(d, 1, 2, 3, 7, 10, 30, 59))
	}
	if d.IntN(4) == 0 {
		return fmt.Sprintf("%dr/m", roll(d, 60, 61, 100, 600, 1000))
	}
	return fmt.Sprintf("%dr/s", roll(d, 1, 2, 3, 5, 7, 10, 30, 100, 333, 1000, 5000, 100_000))
}

// limits are the directives of a block: mostly some, once in a while none. One in rarely blocks says something else too.
func (d *dice) limits(rarely int) string {
	var b strings.Builder
	if d.IntN(3*rarely) < 2 {
		for _, z := range d.Perm(d.zones)[:1+d.IntN(d.zones)] {
			b.WriteString("limit_req zone=z" + fmt.Sprint(z) + d.burst() + "; ")
		}
	}
	if d.IntN(5) == 0 {
		b.WriteString("limit_req_dry_run " + roll(d, "on", "on", "off") + "; ")
	}
	if d.IntN(5) == 0 {
		fmt.Fprintf(&b, "limit_req_status %d; ", roll(d, 400, 403, 429, 500, 503, 598))
	}
	return b.String()
}

// burst is one of all forms, in any order.
func (d *dice) burst() string {
	burst := ""
	if d.IntN(4) > 0 {
		burst = fmt.Sprintf(" burst=%d", roll(d, 1, 2, 3, 5, 10, 50))
	}
	mode := roll(d, "", "", " nodelay", " nodelay", fmt.Sprintf(" delay=%d", roll(d, 1, 2, 4, 60)))
	if d.IntN(4) == 0 {
		return mode + burst
	}
	return burst + mode
}

// value is a key's part: empty, short, long, very long.
func (d *dice) value() string {
	switch d.IntN(12) {
	case 0:
		return ""
	case 1:
		return strings.Repeat("l", roll(d, 255, 256, 300, 4000))
	case 2:
		return strings.Repeat("l", 65_500) // not far below what nginx counts
	}
	return roll(d, "a", "b", "B", "10.0.0.1", "k\u00e9y")
}

// events ask for files at random times.
//
// nginx forgets: whenever a key is new, it drops up to two of the keys that nobody asked about for a minute, in either
// direction of time, if their excess has leaked by then, and forgets with it the last request that was to leak. limitgate
// keeps what is not yet paid (TestForgottenKeys shows both). Schedules stay out of its reach: those with a rate below one
// a second take less than a minute; where all are faster, and no burst is above 50, everything has leaked in a minute
// anyway; and clocks go back by more than a minute only where no key is ever new.
func (d *dice) events() []asked {
	n := 15 + d.IntN(40)
	var list []asked
	at, latest := int64(clockStart), int64(clockStart)
	jumps := !d.slow && d.IntN(4) == 0
	if jumps {
		// Every key that is ever asked for, before time moves.
		d.keys = [][]string{{"a"}, {"b"}, {"c"}, {"d"}}
	}
	rhythm := roll(d, int64(1), 10, 100, 1000)
	for i := range n {
		switch k := d.IntN(20); {
		case k < 8: // at once
		case k < 14:
			at += d.Int64N(rhythm + 1)
		case k < 17:
			at += d.Int64N(2000)
		case k == 17:
			at -= d.Int64N(500)
		case k == 18:
			at -= d.Int64N(50_000)
		case d.slow:
			at += d.Int64N(20_000)
		default:
			at += d.Int64N(7_200_000)
		}
		if jumps && i > n/2 && d.IntN(8) == 0 {
			at -= d.Int64N(7_200_000)
		}
		if !jumps {
			at = max(at, latest-59_000)
		}
		if d.slow {
			at = min(at, clockStart+59_000)
		}
		at = max(at, clockStart)
		latest = max(latest, at)
		a := asked{at: at, method: roll(d, "GET", "GET", "GET", "HEAD"), uri: roll(d, files[1:]...)}
		if d.IntN(15) == 0 {
			a.uri = "/r/x"
		}
		if jumps {
			a.method, a.uri = "GET", "/x"
		}
		if d.IntN(3) > 0 && !jumps {
			a.uri += "?k=" + roll(d, "", "1", "2", "%31")
		}
		for k := range d.zones {
			if v := roll(d, d.keys[k]...); v != "" || d.IntN(2) == 0 {
				a.headers = append(a.headers, [2]string{fmt.Sprintf("X-K%d", k), v})
			}
		}
		list = append(list, a)
	}
	return list
}

// raw is a request as a client sends it.
func (a *asked) raw() string {
	var b strings.Builder
	b.WriteString(a.method + " " + a.uri + " HTTP/1.1\r\nHost: h\r\n")
	for _, h := range a.headers {
		b.WriteString(h[0] + ": " + h[1] + "\r\n")
	}
	return b.String() + "\r\n"
}
