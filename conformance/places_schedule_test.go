package conformance

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// makePlaces makes a schedule for limit_conn. What limit_req does alone, makeSchedule has; here
//
//   - time never goes back: nginx's timers run by the clock that was set back, while simulate takes a line that comes late
//     for late, and lets nothing wait for it;
//   - keys stay below 256 bytes: nginx does not count longer ones in limit_conn, which limitgate does
//     (docs/differences.md, limit.TestLongKeysAreCounted);
//   - who may have to wait stays for a millisecond at least: of those whose delays end in one millisecond simulate lets the
//     first one leave before the second comes, if it stays for no time; in nginx all of them come before any answer of the
//     backend can;
//   - rates are not below one a second and bursts small, so that nginx forgets nothing that is not paid (dice.events).
func makePlaces(r *rand.Rand) schedule {
	d := &placeDice{dice: dice{Rand: r}, conns: 1 + r.IntN(3)}
	d.zones = r.IntN(3)
	var b strings.Builder
	for i := range d.conns {
		fmt.Fprintf(&b, "limit_conn_zone %s zone=c%d:10m;\n", d.key(i), i)
	}
	for i := range d.zones {
		fmt.Fprintf(&b, "limit_req_zone %s zone=z%d:10m rate=%dr/s;\n", d.key(i), i, roll(&d.dice, 1, 2, 5, 10, 50, 1000))
	}
	b.WriteString(d.block(1) + "server { listen unix:SOCKET; server_name h; root html; proxy_read_timeout 1000d; proxy_send_timeout 1000d; proxy_connect_timeout 1000d;\n")
	b.WriteString(d.block(2) + d.page() + "location = /free { return 204; }\n")
	b.WriteString("location / { " + d.block(1) + pass + "}\n")
	b.WriteString("location /a/ { " + d.block(1) + pass + "\n\tlocation /a/b/ { " + d.block(1) + pass + "}\n}\n")
	b.WriteString("location /deny/ { " + d.block(1) + "deny all; error_page 403 = /a/x; }\n")
	b.WriteString("location /e/ { " + d.block(1) + pass + "}\n}\n")
	return schedule{http: b.String(), events: d.events()}
}

const pass = "proxy_pass http://unix:SOCKET-backend:; "

// placeDice makes a schedule for limit_conn.
type placeDice struct {
	dice
	conns   int
	delayed bool // somebody may have to wait
}

// block is the directives of a block: those of limit_conn mostly, of limit_req often. One in rarely blocks has none.
func (d *placeDice) block(rarely int) string {
	var b strings.Builder
	if d.IntN(2*rarely) < 2 {
		for _, z := range d.Perm(d.conns)[:1+d.IntN(d.conns)] {
			fmt.Fprintf(&b, "limit_conn c%d %d; ", z, roll(&d.dice, 1, 1, 2, 3))
		}
	}
	if d.zones > 0 && d.IntN(3*rarely) < 2 {
		for _, z := range d.Perm(d.zones)[:1+d.IntN(d.zones)] {
			burst := d.burst()
			d.delayed = d.delayed || !strings.Contains(burst, "nodelay")
			fmt.Fprintf(&b, "limit_req zone=z%d%s; ", z, burst)
		}
	}
	for _, name := range []string{"limit_req", "limit_conn"} {
		if d.IntN(6) == 0 {
			b.WriteString(name + "_dry_run " + roll(&d.dice, "on", "on", "off") + "; ")
		}
		if d.IntN(6) == 0 {
			fmt.Fprintf(&b, "%s_status %d; ", name, roll(&d.dice, 403, 429, 500))
		}
	}
	return b.String()
}

// page sends some who are refused to a location with limits of its own.
func (d *placeDice) page() string {
	return roll(&d.dice, "", "", "error_page 429 503 /e/x;\n", "error_page 503 = /e/x;\n", "error_page 429 =404 /e/x;\n")
}

// events ask for places at random times, for random stays.
func (d *placeDice) events() []asked {
	var list []asked
	at, rhythm := int64(clockStart), roll(&d.dice, int64(1), 10, 100, 1000)
	values := []string{"a", "b"}[:1+d.IntN(2)]
	for range 15 + d.IntN(40) {
		switch k := d.IntN(10); {
		case k < 3: // at once
		case k < 8:
			at += d.Int64N(rhythm + 1)
		default:
			at += d.Int64N(3 * rhythm)
		}
		a := asked{at: at, method: "GET", uri: roll(&d.dice, "/x", "/x", "/a/x", "/a/b/x", "/deny/x", "/e/x")}
		a.stay = d.Int64N(6*rhythm + 1)
		if d.IntN(3) == 0 {
			a.stay = rhythm * d.Int64N(5) // many things in one millisecond
		}
		if d.delayed {
			a.stay = max(a.stay, 1)
		}
		if d.IntN(3) > 0 {
			a.uri += "?k=" + roll(&d.dice, "", "1", "2")
		}
		for k := range max(d.conns, d.zones) {
			if d.IntN(8) > 0 {
				a.headers = append(a.headers, [2]string{fmt.Sprintf("X-K%d", k), roll(&d.dice, values...)})
			}
		}
		list = append(list, a)
	}
	return list
}
