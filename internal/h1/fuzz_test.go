package h1

import (
	"bytes"
	"math"
	"testing"
)

// FuzzRequest checks that a verdict doesn't depend on how bytes were split, that every span lies within the bytes, and
// that nothing panics. A verdict may come before the last byte, so the pieces before the cut are parsed first.
func FuzzRequest(f *testing.F) {
	for _, s := range readCorpus(f) {
		f.Add([]byte(s.raw), uint16(len(s.raw)/2), uint16(len(s.raw)/3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut1, cut2 uint16) {
		whole := verdictOn(raw)
		a, b := min(int(cut1), len(raw)), min(int(cut2), len(raw))
		if got := verdictIn(raw, []int{min(a, b), max(a, b)}); !sameVerdict(got, whole) {
			t.Fatalf("cut at %d and %d\n got %s\nwhole %s", a, b, got, whole)
		}
		var r Request
		ok, err := r.Parse(raw, &Rules{})
		if !ok || err != nil {
			return
		}
		if r.Size() > len(raw) || r.Length() > r.Size() {
			t.Fatalf("size %d, length %d of %d bytes", r.Size(), r.Length(), len(raw))
		}
		end := r.l.line.End
		for _, h := range r.Lines {
			if h.Name.Start < end || h.Name.End < h.Name.Start || h.Value.Start < h.Name.End || h.Value.End < h.Value.Start {
				t.Fatalf("spans of %q: %v after %d", h.Name.Of(raw), h, end)
			}
			end = h.Value.End
		}
		if p := r.Path(raw); len(p) == 0 || p[0] != '/' {
			t.Fatalf("path %q", p)
		}
	})
}

// FuzzChunked compares the decoder with one that looks at the whole body at once, however the bytes are split.
func FuzzChunked(f *testing.F) {
	for _, s := range []string{"5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\nrest", "a;x\r\n0123456789\r\n0;y\r\nT: u\r\n\r\n", "5\nhello\n0\n\n",
		"7fffffffffffffff\r\n", "800000000000000\r\n", "000\t\r\n\r\n", "1 \rx\r\n"} {
		f.Add([]byte(s), uint8(3))
	}
	f.Fuzz(func(t *testing.T, raw []byte, piece uint8) {
		want, used, verdict := naiveChunked(raw)
		body := ChunkedBody()
		var got []byte
		at, seen := 0, 0
		bad := false
		for !body.Done() && !bad && (at < seen || seen < len(raw)) {
			skip, n, err := body.Next(raw[at:seen])
			bad = err != nil
			got = append(got, raw[at+skip:at+skip+n]...)
			if at += skip + n; skip+n == 0 {
				seen = min(len(raw), seen+1+int(piece))
			}
		}
		switch {
		case bad != (verdict == naiveBad), body.Done() != (verdict == naiveDone):
			t.Fatalf("%q: bad %v, done %v, want %v", raw, bad, body.Done(), verdict)
		case !bytes.Equal(got, want):
			t.Fatalf("%q: got %q, want %q", raw, got, want)
		case body.Done() && at != used:
			t.Fatalf("%q: used %d, want %d", raw, at, used)
		}
	})
}

const (
	naiveMore = "more"
	naiveBad  = "bad"
	naiveDone = "done"
)

// naiveChunked decodes a whole chunked body line by line.
func naiveChunked(raw []byte) (data []byte, used int, verdict string) {
	b := raw
	for {
		line, rest, verdict := naiveLine(b)
		digits := line
		for i, c := range line {
			if unhex(c) < 0 {
				digits = line[:i]
				break
			}
		}
		var size uint64
		for i, c := range digits {
			// nginx checks before each byte behind the first that another digit would still fit.
			if i > 0 && size > math.MaxInt64/16 {
				return data, 0, naiveBad
			}
			size = size<<4 | uint64(unhex(c))
		}
		after := line[len(digits):]
		switch {
		case len(line) == 0 && verdict == naiveMore && len(b) == 0:
			return data, 0, naiveMore
		case len(digits) == 0, len(after) > 0 && after[0] != ';' && after[0] != ' ' && after[0] != '\t':
			return data, 0, naiveBad
		case size > math.MaxInt64/16 && len(digits) < len(b):
			return data, 0, naiveBad
		case verdict != "":
			return data, 0, verdict
		}
		b = rest
		if size == 0 {
			break
		}
		n := int(min(size, uint64(len(b))))
		data = append(data, b[:n]...)
		if b = b[n:]; uint64(n) < size || len(b) == 0 {
			return data, 0, naiveMore
		}
		line, rest, verdict = naiveLine(b)
		switch {
		case len(line) > 0:
			return data, 0, naiveBad
		case verdict != "":
			return data, 0, verdict
		}
		b = rest
	}
	for {
		line, rest, verdict := naiveLine(b)
		if verdict != "" {
			return data, 0, verdict
		}
		b = rest
		if len(line) == 0 {
			return data, len(raw) - len(b), naiveDone
		}
	}
}

// naiveLine cuts a line that ends with CRLF; one with CR or LF elsewhere is bad.
func naiveLine(b []byte) (line, rest []byte, verdict string) {
	i := bytes.IndexAny(b, "\r\n")
	switch {
	case i < 0:
		return b, nil, naiveMore
	case b[i] == '\n':
		return b[:i], nil, naiveBad
	case i+1 == len(b):
		return b[:i], nil, naiveMore
	case b[i+1] != '\n':
		return b[:i], nil, naiveBad
	}
	return b[:i], b[i+2:], ""
}

// FuzzResponse checks that a verdict doesn't depend on how bytes were split and that nothing panics.
func FuzzResponse(f *testing.F) {
	for _, c := range responseCases {
		f.Add([]byte(c.in), uint16(len(c.in)/2))
	}
	f.Fuzz(func(t *testing.T, raw []byte, cut uint16) {
		var whole, split Response
		ok, err := whole.Parse(raw, 4096)
		ok2, err2 := split.Parse(raw[:min(int(cut), len(raw))], 4096)
		if !ok2 && err2 == nil {
			ok2, err2 = split.Parse(raw, 4096)
		}
		if got, want := describeResponse(&split, raw, ok2, err2), describeResponse(&whole, raw, ok, err); got != want {
			t.Fatalf("cut at %d\n got %s\nwhole %s", cut, got, want)
		}
	})
}
