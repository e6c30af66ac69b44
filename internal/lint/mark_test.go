package lint

import (
	"strconv"
	"strings"
	"testing"
)

// found lists RULE:LINE of what is not suppressed.
func found(r Report) string {
	var list []string
	for _, f := range r.Findings {
		list = append(list, f.Rule+":"+strconv.Itoa(f.Line))
	}
	return strings.Join(list, " ")
}

func TestCommentsSuppress(t *testing.T) {
	const zone = "limit_req_zone $binary_remote_addr zone=z:10m rate=10r/s;"
	for _, c := range []struct {
		name, text, want string
		suppressed       int
	}{
		{"none", "\n" + zone, "zone-unused:4", 0},
		{"line before", "# limitgate-check: ignore zone-unused\n" + zone, "", 1},
		{"same line", "\n" + zone + " # limitgate-check: ignore zone-unused", "", 1},
		{"without a blank", "\n" + zone + " #limitgate-check: ignore zone-unused", "", 1},
		{"comments and blank lines between", "# limitgate-check: ignore zone-unused\n# because\n\n" + zone, "", 1},
		{"several", "# limitgate-check: ignore no-burst, zone-unused\n" + zone, "", 1},
		{"with a reason", "# limitgate-check: ignore zone-unused: the next release uses it\n" + zone, "zone-unused:4 unknown-rule:3", 0},
		{"with a reason apart", "# limitgate-check: ignore zone-unused - the next release uses it\n" + zone, "", 1},
		{"another rule", "# limitgate-check: ignore no-burst\n" + zone, "zone-unused:4", 0},
		{"a rule that is not there", "# limitgate-check: ignore zone-unusedd\n" + zone, "unknown-rule:3 zone-unused:4", 0},
		{"the line after the next", "# limitgate-check: ignore zone-unused\nsendfile on;\n" + zone, "zone-unused:5", 0},
		{"in quotes", "add_header X \"# limitgate-check: ignore zone-unused\";\n" + zone, "zone-unused:4", 0},
		{"in quotes of two lines", "add_header X \"a\n# limitgate-check: ignore zone-unused\"; " + zone, "zone-unused:4", 0},
		{"inside a word", "add_header X a#limitgate-check:;\n" + zone, "zone-unused:4", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := check(t, "", "events {}\nhttp {\n"+c.text+"\n}\n")
			want := strings.Fields(c.want)
			got := strings.Fields(found(r))
			if len(want) != len(got) || r.Suppressed != c.suppressed {
				t.Fatalf("got %v, %d suppressed, want %v, %d", got, r.Suppressed, want, c.suppressed)
			}
			for _, w := range want {
				if !strings.Contains(found(r), w) {
					t.Errorf("got %v, want %v", got, want)
				}
			}
		})
	}
}
