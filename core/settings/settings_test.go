package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/tamarack-mq/tamarack/core/message"
)

func set(pairs ...string) (list []message.Setting) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, message.Setting{Key: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func TestSettingsOfNodesAreCheckedAndKeptInOrder(t *testing.T) {
	got, err := Alter(set("fetch-wait", "1s"), 2, set("replica-lag", "1m30s", "heartbeat-interval", "250ms"), []string{"fetch-wait"})
	require.NoError(t, err)
	require.Equal(t, set("heartbeat-interval", "250ms", "replica-lag", "90s"), got)

	for _, c := range []struct {
		node  message.NodeID
		set   []message.Setting
		unset []string
		want  string
	}{
		{0, set("replica-leg", "1s"), nil, `there is no setting "replica-leg" of nodes; there are: heartbeat-interval, session-timeout, replica-lag, fetch-wait, group-session-timeout, group-heartbeat-interval, offsets-retention, transactions-max-timeout, transactions-expiration`},
		{0, nil, []string{"nothing"}, `there is no setting "nothing" of nodes; there are: heartbeat-interval, session-timeout, replica-lag, fetch-wait, group-session-timeout, group-heartbeat-interval, offsets-retention, transactions-max-timeout, transactions-expiration`},
		{0, set("replica-lag", "soon"), nil, `setting "replica-lag" cannot be "soon": give a span of time as a whole number with a unit, as in 250ms, 30s, 15m or 36h`},
		{0, set("replica-lag", "2h"), nil, `setting "replica-lag" cannot be "2h": it may be 100ms to 1h`},
		{3, set("session-timeout", "9s"), nil, `setting "session-timeout" is the same on all nodes: set it without naming a node`},
		{0, set("fetch-wait", "1s"), []string{"fetch-wait"}, `setting "fetch-wait" is named twice`},
	} {
		_, err := Alter(nil, c.node, c.set, c.unset)
		require.EqualError(t, err, c.want)
	}
}

func TestWhatHoldsOnANode(t *testing.T) {
	start := Node{ReplicaLag: int64(5 * message.Second)}
	cluster, own := set("fetch-wait", "1s", "session-timeout", "800ms"), set("fetch-wait", "2s")
	got := Resolve(start, cluster, own)
	require.Equal(t, Node{
		HeartbeatInterval: int64(400 * message.Millisecond), // bent: no node may miss its session
		SessionTimeout:    int64(800 * message.Millisecond),
		ReplicaLag:        int64(5 * message.Second),
		FetchWait:         int64(2 * message.Second),
		GroupSession:      int64(10 * message.Second),
		GroupHeartbeat:    int64(message.Second),
		OffsetsRetention:  int64(7 * 24 * message.Hour),

		TransactionsMaxTimeout: int64(15 * message.Minute),
		TransactionsExpiration: int64(7 * 24 * message.Hour),
	}, got)

	var sources []string
	for _, s := range Describe(start, cluster, own) {
		sources = append(sources, s.Key+"="+s.Value+" "+s.Source.String())
	}
	require.Equal(t, []string{
		"heartbeat-interval=400ms default", "session-timeout=800ms cluster", "replica-lag=5s start", "fetch-wait=2s node",
		"group-session-timeout=10s default", "group-heartbeat-interval=1s default", "offsets-retention=168h default",
		"transactions-max-timeout=15m default", "transactions-expiration=168h default",
	}, sources)
	require.EqualError(t, Check(start, cluster, own), "a session of 800ms must outlive two heartbeats of 500ms: set both at once")
	require.NoError(t, Check(start, set("heartbeat-interval", "400ms", "session-timeout", "800ms"), nil))
}

func TestSettingsOfTopics(t *testing.T) {
	got, err := AlterTopic(message.TopicConfig{RetentionBytes: 5, MinInsync: 3, Internal: true},
		set("segment-bytes", "64KiB", "retention", "36h", "retention-bytes", "none"), []string{"min-insync"})
	require.NoError(t, err)
	require.Equal(t, message.TopicConfig{
		SegmentBytes: 64 << 10, RetentionTime: 36 * message.Hour, RetentionBytes: -1, Internal: true,
	}, got)

	var lines []string
	for _, s := range DescribeTopic(got) {
		lines = append(lines, s.Key+"="+s.Value+" "+s.Source.String())
	}
	require.Equal(t, []string{
		"min-insync=2 default", "segment-bytes=64KiB topic", "retention-bytes=none topic", "retention=36h topic", "max-batch-bytes=1MiB default",
	}, lines)

	for _, c := range []struct{ key, value, want string }{
		{"min-insync", "0", `setting "min-insync" cannot be "0": give a whole number from 1 to 32767`},
		{"segment-bytes", "4GiB", `setting "segment-bytes" cannot be "4GiB": give a size from 1KiB to 2147483647B`},
		{"retention", "-5s", `setting "retention" cannot be "-5s": give 1ms or more, as in 36h, or none`},
		{"max-batch-bytes", "17MiB", `setting "max-batch-bytes" cannot be "17MiB": give a size from 1KiB to 16MiB`},
		{"cleanup", "compact", `there is no setting "cleanup" of topics; there are: min-insync, segment-bytes, retention-bytes, retention, max-batch-bytes`},
	} {
		same, err := AlterTopic(got, set(c.key, c.value), nil)
		require.EqualError(t, err, c.want)
		require.Equal(t, got, same)
	}
}

// What is set is described as it was set, and leaves nothing behind once it is unset.
func TestEachSettingOfATopicIsShownAsSetAndGoesAgain(t *testing.T) {
	values := map[string][]string{
		"min-insync": {"1", "2", "3"}, "segment-bytes": {"64KiB"}, "retention-bytes": {"none", "1GiB"},
		"retention": {"none", "36h"}, "max-batch-bytes": {"2MiB"},
	}
	for i, row := range topicTable {
		require.NotEmpty(t, values[row.name], "a new setting: %s", row.name)
		for _, value := range values[row.name] {
			c, err := AlterTopic(message.TopicConfig{}, set(row.name, value), nil)
			require.NoError(t, err)
			require.Equal(t, message.SettingInfo{Key: row.name, Value: value, Source: message.FromTopic, Prose: row.prose}, DescribeTopic(c)[i])
			c, err = AlterTopic(c, nil, []string{row.name})
			require.NoError(t, err)
			require.Equal(t, message.TopicConfig{}, c)
		}
	}
}

func TestASettingOfANewerReleaseIsNotLookedAt(t *testing.T) {
	newer := set("heartbeat-colour", "green")
	require.NoError(t, Check(Node{}, newer, newer))
	require.Equal(t, Resolve(Node{}, nil, nil), Resolve(Node{}, newer, newer))
}

func FuzzValues(f *testing.F) {
	for _, text := range []string{"1h30m", "15ms", "1MiB", "12", "", "9223372036854775807ns", "9999999999999h", "1GiBs"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if d, err := ParseDuration(text); err == nil {
			again, err := ParseDuration(FormatDuration(d))
			require.NoError(t, err)
			require.Equal(t, d, again)
		}
		if n, err := ParseBytes(text); err == nil {
			again, err := ParseBytes(FormatBytes(n))
			require.NoError(t, err)
			require.Equal(t, n, again)
		}
	})
}
