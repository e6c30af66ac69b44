package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limitgate/limitgate/internal/replay"
)

func TestBarText(t *testing.T) {
	for _, c := range []struct {
		lines, read, total int64
		spent              time.Duration
		want               string
	}{
		{1_000_000, 50, 200, 2 * time.Second, "[#######.......................]  25 % 1,000,000 lines, 500,000 a second, 6s left"},
		{10, 200, 200, time.Second, "[##############################] 100 % 10 lines, 10 a second, 0s left"},
		{10, 300, 200, time.Second, "[##############################] 100 % 10 lines, 10 a second, 0s left"}, // the file grows
		{10, 5, -1, time.Second, "10 lines, 10 a second"},
		{0, 0, 200, 0, "0 lines, 0 a second"},
	} {
		if got := barText(c.lines, c.read, c.total, c.spent); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// A bar is drawn in place, not too often, and goes away; nobody who is no terminal gets one.
func TestBar(t *testing.T) {
	var out bytes.Buffer
	now := time.Unix(0, 0)
	b := &bar{out: &out, progress: func() (int64, int64) { return 1, 2 }, now: func() time.Time { return now }, start: now}
	for i := range 10 {
		now = now.Add(50 * time.Millisecond)
		b.show(replay.Progress{Records: int64(i)})
	}
	b.clear()
	if got := out.String(); strings.Count(got, "\r") != 6 || strings.Contains(got, "\n") || !strings.HasSuffix(got, "\r\x1b[K") {
		t.Errorf("got %q", got)
	}
	file, err := os.Create(t.TempDir() + "/stderr")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	b = newBar(file, b.progress)
	b.show(replay.Progress{Records: 1})
	b.clear()
	if info, err := file.Stat(); err != nil || info.Size() != 0 {
		t.Errorf("%d bytes in a file, %v", info.Size(), err)
	}
	if colours(file) || isTerminal(file) {
		t.Error("a file is no terminal")
	}
}
