package accesslog

import "testing"

func TestStart(t *testing.T) {
	for _, c := range []struct {
		name  string
		r     Record
		want  int64
		known bool
	}{
		{"begin", Record{Stamp: 10, Duration: 4}, 10, true},
		{"begin without duration", Record{Stamp: 10, Duration: Unknown}, 10, true},
		{"end", Record{Stamp: 10, AtEnd: true, Duration: 4}, 6, true},
		{"end at once", Record{Stamp: 10, AtEnd: true}, 10, true},
		{"end without duration", Record{Stamp: 10, AtEnd: true, Duration: Unknown}, 10, false},
	} {
		if got, known := c.r.Start(); got != c.want || known != c.known {
			t.Errorf("%s: got %d, %v, want %d, %v", c.name, got, known, c.want, c.known)
		}
	}
}

func TestField(t *testing.T) {
	r := Record{Fields: []Field{{"scheme", []byte("http")}, {"http_x", []byte{}}}}
	if v, ok := r.Field("scheme"); string(v) != "http" || !ok {
		t.Errorf("scheme: got %q, %v", v, ok)
	}
	if v, ok := r.Field("http_x"); v == nil || !ok {
		t.Errorf("an empty field: got %q, %v, want it empty and there", v, ok)
	}
	if _, ok := r.Field("http_y"); ok {
		t.Error("http_y: got a value of a field that is not there")
	}
}
