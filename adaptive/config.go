package adaptive

import (
	"errors"
	"fmt"
	"time"

	"github.com/limitgate/limitgate"
)

// Config says between what a limit is looked for. The zero Config is a good one.
type Config struct {
	// Min and Max are what the limit stays between. 0: 1 and 1000.
	Min, Max int64

	// Initial is the limit until something is known. 0: 20. It is cut to Min and Max.
	Initial int64

	// Tolerance is how much slower than without load a request may be, in percent: 150 lets the queue before the backend add half
	// of the time that a request takes by itself. More keeps a backend busy whose arrivals are uneven, and makes all wait. 0: 150.
	Tolerance int

	// Window is the least time that is averaged before the limit moves. 0: 100 ms. Where a request takes longer it is as long as one.
	Window time.Duration

	// Probe is how often the time without load is measured again under load, by a limit that is a third for about two requests' time.
	// 0: 10 s. It is at least forty times the time of a request, so that it costs little.
	Probe time.Duration

	// CPU is a second signal: above CPUTarget the limit shrinks, however fast the answers are. nil: none.
	CPU CPU

	// CPUTarget is in thousandths of what the process may use. 0: 900.
	CPUTarget int
}

// CPU tells how busy the processor is.
type CPU interface {
	// Load is in thousandths of what the process may use. It is asked at most once a window, by one request at a time for each
	// limit, and must be safe for concurrent use where limits share it.
	Load(now limitgate.Time) int
}

// Validate says what is wrong with c.
func (c Config) Validate() error {
	d := c.withDefaults()
	switch {
	case c.Min < 0 || c.Max < 0 || c.Initial < 0:
		return errors.New("adaptive limit: neither Min, Max nor Initial may be negative")
	case d.Min > d.Max:
		return fmt.Errorf("adaptive limit: Min %d is above Max %d", d.Min, d.Max)
	case d.Max > maxLimit:
		return fmt.Errorf("adaptive limit: Max %d is above %d", d.Max, maxLimit)
	case d.Tolerance < 110 || d.Tolerance > 1000:
		return fmt.Errorf("adaptive limit: Tolerance of %d%% is not between 110 and 1000", d.Tolerance)
	case c.Window < 0 || c.Probe < 0:
		return errors.New("adaptive limit: neither Window nor Probe may be negative")
	case c.CPUTarget < 0 || c.CPUTarget > 1000:
		return fmt.Errorf("adaptive limit: CPUTarget of %d thousandths is not between 0 and 1000", c.CPUTarget)
	}
	return nil
}

// maxLimit is what a limit of requests at once counts to.
const maxLimit = 4 * 65535

// Complete is c with all that was left out, for an Estimate. It fails if c is not valid.
func (c Config) Complete() (Config, error) { return c.withDefaults(), c.Validate() }

// withDefaults is c with all that was left out.
func (c Config) withDefaults() Config {
	or(&c.Min, 1)
	or(&c.Max, max(1000, c.Min))
	or(&c.Initial, 20)
	or(&c.Tolerance, 150)
	or(&c.Window, 100*time.Millisecond)
	or(&c.Probe, 10*time.Second)
	or(&c.CPUTarget, 900)
	return c
}

func or[T ~int | ~int64](v *T, otherwise T) {
	if *v == 0 {
		*v = otherwise
	}
}

// tolerance is Tolerance as a factor.
func (c *Config) tolerance() float64 { return float64(c.Tolerance) / 100 }
