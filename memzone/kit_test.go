package memzone_test

import (
	"testing"

	"github.com/limitgate/limitgate"
	"github.com/limitgate/limitgate/memzone"
	"github.com/limitgate/limitgate/zonetest"
)

func fresh(testing.TB) limitgate.Zone { return memzone.New(memzone.Config{}) }

func TestKit(t *testing.T) { zonetest.Run(t, fresh) }
