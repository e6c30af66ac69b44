package request

import "testing"

func TestAppendPath(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"/a-b_c.d~e", "/a-b_c.d~e"},
		{"/ \"#%<>?\\^`{|}\x7f\x00\x1f", "/%20%22%23%25%3C%3E%3F%5C%5E%60%7B%7C%7D%7F%00%1F"},
		{"/'()*+,;=:@!$&[]", "/'()*+,;=:@!$&[]"},
		{"/ä", "/%C3%A4"},
	} {
		if got := string(AppendPath(nil, []byte(c.in))); got != c.want {
			t.Errorf("AppendPath(%q): got %s, want %s", c.in, got, c.want)
		}
	}
}
