package zonetest

import (
	"testing"

	"github.com/limitgate/limitgate"
)

func TestModel(t *testing.T) {
	Run(t, func(testing.TB) limitgate.Zone { return NewModel() })
}
