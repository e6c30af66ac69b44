package simulate

import (
	"fmt"
	"strings"
	"testing"
)

// What a full zone does: with overflow=evict new keys push others out, with reject they are refused without a time to come
// back, and who was there keeps its debt.
func TestOverflow(t *testing.T) {
	for policy, want := range map[string]string{"evict": "5000 of 5000 pass, the first again 429 reject 0 z", "reject": "2047 of 5000 pass, the first again 429 reject 0 z"} {
		s := open(t, `limit_req_zone $http_x_key zone=z:32k rate=1r/m overflow=`+policy+`;
			server { limit_req_status 429; limit_req zone=z burst=5 nodelay; }`, "")
		var events strings.Builder
		for range 6 {
			events.WriteString(at(0, "/", `"headers":{"X-Key":"victim"}`))
		}
		for i := range 5000 {
			events.WriteString(at(0, "/", fmt.Sprintf(`"headers":{"X-Key":"%d"}`, i)))
		}
		events.WriteString(at(0, "/", `"headers":{"X-Key":"victim"}`))
		list := tell(t, s, events.String())
		passed := 0
		for _, a := range list[6 : len(list)-1] {
			if a.Verdict == "pass" {
				passed++
			} else if a.RetryAfter != nil {
				t.Fatalf("%s: refused for want of room, with a time to retry after: %+v", policy, a)
			}
		}
		if got := fmt.Sprintf("%d of 5000 pass, the first again %s", passed, short(list[len(list)-1])); got != want {
			t.Errorf("%s: got %s, want %s", policy, got, want)
		}
	}
}
