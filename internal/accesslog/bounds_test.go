package accesslog

import (
	"fmt"
	"testing"
)

// Lines whose times are none that a server had are malformed, and say why, in text as in JSON.
func TestTimesOutOfBounds(t *testing.T) {
	const age, long = "its time is not in the years from 1971 to 2199", "its request took longer than a year"
	for _, c := range []struct{ stamp, took, want string }{
		{"1764496800.000", "0.010", ""},
		{"1764496800.000", "31000000.000", ""},
		{"0.000", "0.000", age},
		{"8000000000.000", "0.000", age},
		{"9223372035.000", "9223372035.000", age},
		{"1764496800.000", "9100000000.000", long},
	} {
		for _, form := range []struct{ format, good, line string }{
			{`$remote_addr $msec "$request" $status $request_time`, "192.0.2.1 1764496800.000 \"GET / HTTP/1.1\" 200 0.001\n", "192.0.2.1 %s \"GET /x HTTP/1.1\" 200 %s\n"},
			{"", `{"remote_addr":"192.0.2.1","msec":"1764496800.000","request":"GET / HTTP/1.1","status":200,"request_time":"0.001"}` + "\n",
				`{"remote_addr":"192.0.2.1","msec":"%s","request":"GET /x HTTP/1.1","status":200,"request_time":"%s"}` + "\n"},
		} {
			o := Options{}
			if form.format != "" {
				f, err := ParseFormat(form.format, 0)
				if err != nil {
					t.Fatal(err)
				}
				o.Format = f
			}
			_, sources := uris(t, write(t, "access.log", form.good+form.good+fmt.Sprintf(form.line, c.stamp, c.took)), o)
			why := ""
			if len(sources[0].Examples) > 0 {
				why = sources[0].Examples[0].Why
			}
			if form.format == "" && c.want == age {
				c.want = errNoTime.Error() // JSON has it in any unit: it is read as none of them
			}
			if why != c.want {
				t.Errorf("%s taking %s: got %q, want %q", c.stamp, c.took, why, c.want)
			}
		}
	}
}
