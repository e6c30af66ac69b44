package h2

import "golang.org/x/net/http2"

// The bounds of SETTINGS_MAX_FRAME_SIZE, and where it begins.
const (
	MinFrameSize = 1 << 14
	MaxFrameSize = 1<<24 - 1
)

// CheckSetting returns the error of a setting that is outside its bounds, and http2.ErrCodeNo for any other, unknown ones
// included.
func CheckSetting(s http2.Setting) http2.ErrCode {
	switch s.ID {
	case http2.SettingInitialWindowSize:
		if s.Val > MaxWindow {
			return http2.ErrCodeFlowControl
		}
	case http2.SettingMaxFrameSize:
		if s.Val < MinFrameSize || s.Val > MaxFrameSize {
			return http2.ErrCodeProtocol
		}
	case http2.SettingEnablePush, http2.SettingEnableConnectProtocol:
		if s.Val > 1 {
			return http2.ErrCodeProtocol
		}
	}
	return http2.ErrCodeNo
}
