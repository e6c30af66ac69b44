package vectors

import "testing"

func TestLoad(t *testing.T) {
	for name, models := range map[string]map[string]int{
		"leaky_exact":     {"exact_req": 131},
		"leaky_nginx":     {"nginx_limit_req": 151, "nginx_limit_req_config": 13},
		"concurrency":     {"nginx_limit_conn": 18, "nginx_req_then_conn": 4},
		"token":           {"token_ms": 9, "gcra_throttled": 7},
		"fixed":           {"fixed_aligned": 8, "fixed_first_hit": 9},
		"sliding_counter": {"sliding_rl": 4},
		"sliding_log":     {"log_set": 7, "ip_prefix_key": 7},
		"articles":        {"nginx_limit_req": 21, "nginx_limit_conn": 2, "token_ms": 1, "log_set": 1},
	} {
		f := Load(t, name)
		for m, want := range models {
			if got := len(f.Select(m)); got != want {
				t.Errorf("%s: %d cases of %s, want %d", name, got, m, want)
			}
		}
	}
}

func TestThousandths(t *testing.T) {
	for in, want := range map[string]Thousandths{`"0.960"`: 960, `0.96`: 960, `12`: 12000, `1.001`: 1001} {
		var got Thousandths
		if err := got.UnmarshalJSON([]byte(in)); err != nil || got != want {
			t.Errorf("%s: got %d %v, want %d", in, got, err, want)
		}
	}
}
