package rollout

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Share is a part of all keys, in millionths.
type Share uint32

// Whole is all of them.
const Whole Share = 1_000_000

var errShare = errors.New("a share is a percentage from 0% to 100% with up to four decimals, and with its sign: 5%, 0.1%")

// ParseShare reads a percentage: "5%", "0.1%".
func ParseShare(text string) (Share, error) {
	const decimals = 4
	number, found := strings.CutSuffix(text, "%")
	whole, part, pointed := strings.Cut(number, ".")
	if !found || len(whole) > 3 || len(part) > decimals || pointed && part == "" {
		return 0, errShare
	}
	digits := whole + part + strings.Repeat("0", decimals-len(part))
	n, err := strconv.ParseUint(digits, 10, 32)
	if err != nil || whole == "" || Share(n) > Whole {
		return 0, errShare
	}
	return Share(n), nil
}

// String writes it as ParseShare reads it.
func (s Share) String() string {
	text := strconv.Itoa(int(s / 10_000))
	if part := s % 10_000; part != 0 {
		text += "." + strings.TrimRight(fmt.Sprintf("%04d", part), "0")
	}
	return text + "%"
}

// MarshalText implements encoding.TextMarshaler.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Share) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShare(string(text))
	return err
}

// part is the share that n is of m, told in hundredths of a percent and rounded up: what is above a limit is told above it, and one of a
// million is not told as none.
func part(n, m uint64) Share {
	if m == 0 {
		return 0
	}
	const step = Whole / 10_000
	return (Share(min(n, m)*uint64(Whole)/m) + step - 1) / step * step
}
