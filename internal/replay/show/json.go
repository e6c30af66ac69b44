package show

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/limitgate/limitgate/internal/replay"
)

// JSON writes a report as one object.
func JSON(w io.Writer, r *replay.Report) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
