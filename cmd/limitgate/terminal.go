package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/limitgate/limitgate/internal/replay"
)

// isTerminal tells whether a file is one that a person looks at.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && os.Getenv("TERM") != "dumb" && info.Name() != "null"
}

// colours tells whether what is written to a file may have colours.
func colours(f *os.File) bool { return os.Getenv("NO_COLOR") == "" && isTerminal(f) }

// bar shows how far a replay is, on a terminal only. It is redrawn when records were decided on, at most ten times a second.
type bar struct {
	out      io.Writer // nil: nobody looks
	progress func() (read, total int64)
	now      func() time.Time
	start    time.Time
	drawn    time.Time
}

func newBar(f *os.File, progress func() (read, total int64)) *bar {
	b := &bar{progress: progress, now: time.Now}
	if isTerminal(f) {
		b.out = f
	}
	b.start = b.now()
	return b
}

const barPlaces = 30

// show draws the bar.
func (b *bar) show(p replay.Progress) {
	if b.out == nil {
		return
	}
	now := b.now()
	if now.Sub(b.drawn) < 100*time.Millisecond {
		return
	}
	b.drawn = now
	read, total := b.progress()
	fmt.Fprint(b.out, "\r\x1b[K"+barText(p.Records, read, total, now.Sub(b.start)))
}

// clear takes the bar away.
func (b *bar) clear() {
	if b.out != nil {
		fmt.Fprint(b.out, "\r\x1b[K")
	}
}

// barText is the bar after some time: how much is read, lines a second, and the time that is left where it is known.
func barText(lines, read, total int64, spent time.Duration) string {
	speed := int64(0)
	if ms := spent.Milliseconds(); ms > 0 {
		speed = lines * 1000 / ms
	}
	rate := replay.Number(lines) + " lines, " + replay.Number(speed) + " a second"
	if total <= 0 || read <= 0 {
		return rate
	}
	read = min(read, total)
	full := int(read * barPlaces / total)
	left := time.Duration(float64(spent) * float64(total-read) / float64(read)).Round(time.Second)
	return fmt.Sprintf("[%s%s] %3d %% %s, %v left", strings.Repeat("#", full), strings.Repeat(".", barPlaces-full), read*100/total, rate, left)
}
