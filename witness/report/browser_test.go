package report_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// browser is a headless Chromium that is driven over a pair of pipes.
type browser struct {
	t       *testing.T
	in      *os.File
	out     *bufio.Reader
	session string
	last    int
}

// open shows a page in a browser; a machine without one skips the test.
func open(t *testing.T, html string) *browser {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no chromium on PATH: what a browser shows is not tested here (apt-get install chromium)")
	}
	theirIn, in, err := os.Pipe()
	require.NoError(t, err)
	out, theirOut, err := os.Pipe()
	require.NoError(t, err)
	profile, err := os.MkdirTemp("", "report-browser-")
	require.NoError(t, err)
	// Processes of its own outlive the browser for a moment and write on: what
	// they leave is left.
	t.Cleanup(func() { _ = os.RemoveAll(profile) })
	cmd := exec.Command(path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
		"--window-size=1500,950", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	require.NoError(t, cmd.Start())
	theirIn.Close()
	theirOut.Close()
	b := &browser{t: t, in: in, out: bufio.NewReaderSize(out, 1<<20)}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		out.Close()
	})
	out.SetReadDeadline(time.Now().Add(2 * time.Minute))
	target := b.call("Target.createTarget", map[string]any{"url": "about:blank"})["targetId"]
	b.session = b.call("Target.attachToTarget", map[string]any{"targetId": target, "flatten": true})["sessionId"].(string)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1500, "height": 950, "deviceScaleFactor": 1, "mobile": false})
	b.call("Page.enable", nil)
	b.call("Page.navigate", map[string]any{"url": "file://" + html})
	for begun := time.Now(); b.eval(`document.documentElement?.dataset.ready || ""`) != "yes"; time.Sleep(20 * time.Millisecond) {
		require.Less(t, time.Since(begun), 60*time.Second, "the page does not come up: %v", b.eval(`document.body ? document.body.innerText.slice(0, 500) : ""`))
	}
	return b
}

// call sends a command and returns its result.
func (b *browser) call(method string, params map[string]any) map[string]any {
	b.t.Helper()
	b.last++
	msg := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		delete(msg, "params")
	}
	if b.session != "" {
		msg["sessionId"] = b.session
	}
	raw, err := json.Marshal(msg)
	require.NoError(b.t, err)
	_, err = b.in.Write(append(raw, 0))
	require.NoError(b.t, err)
	for {
		raw, err := b.out.ReadBytes(0)
		if err == io.EOF {
			b.t.Fatal("the browser has ended")
		}
		require.NoError(b.t, err)
		var answer struct {
			ID     int
			Result map[string]any
			Error  *struct{ Message string }
		}
		require.NoError(b.t, json.Unmarshal(raw[:len(raw)-1], &answer))
		if answer.ID != b.last {
			continue
		}
		require.Nil(b.t, answer.Error, "%s", method)
		return answer.Result
	}
}

// eval gives the value of an expression in the page.
func (b *browser) eval(expression string) any {
	b.t.Helper()
	r := b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true})
	require.Nil(b.t, r["exceptionDetails"], "%s: %v", expression, r["exceptionDetails"])
	return r["result"].(map[string]any)["value"]
}

func (b *browser) number(expression string) float64 {
	b.t.Helper()
	n, ok := b.eval(expression).(float64)
	require.True(b.t, ok, "%s is no number", expression)
	return n
}

// settle waits until what was asked for has been drawn.
func (b *browser) settle() {
	b.eval(`new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))`)
}

func (b *browser) key(key string) {
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyDown", "key": key, "text": key})
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key})
	b.settle()
}

func (b *browser) typeText(text string) { b.call("Input.insertText", map[string]any{"text": text}) }

func (b *browser) mouse(kind string, x, y float64, more map[string]any) {
	p := map[string]any{"type": kind, "x": x, "y": y, "button": "none"}
	for k, v := range more {
		p[k] = v
	}
	b.call("Input.dispatchMouseEvent", p)
}

func (b *browser) click(x, y float64) {
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.mouse(kind, x, y, map[string]any{"button": "left", "buttons": 1, "clickCount": 1})
	}
	b.settle()
}

// shoot saves a picture when SIMRUN_SCREENSHOTS names a folder for them.
func (b *browser) shoot(name string) {
	dir := os.Getenv("SIMRUN_SCREENSHOTS")
	if dir == "" {
		return
	}
	data, err := base64.StdEncoding.DecodeString(fmt.Sprint(b.call("Page.captureScreenshot", nil)["data"]))
	require.NoError(b.t, err)
	require.NoError(b.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o644))
}
