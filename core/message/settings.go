package message

// AlterConfig changes settings while the cluster runs (KIP-339): those of a
// topic, of one node, or of all nodes. All of it is done or nothing.
type AlterConfig struct {
	Topic string // not empty: the settings of this topic
	Node  NodeID // else of this node; NoNode: of all nodes that have none of their own
	Set   []Setting
	Unset []string // keys that go back to what holds without them
}

// Setting is one setting by name, written as people write it: "3", "64MiB",
// "36h", "none".
type Setting struct{ Key, Value string }

// AlterConfigReply is sent after the change is committed. InvalidConfig comes
// with what is wrong and what would be right.
type AlterConfigReply struct {
	Code   Code
	Detail string
}

// DescribeConfig asks for the settings of a topic, or of the node that is asked.
type DescribeConfig struct{ Topic string }

// DescribeConfigReply lists the settings by key. Node is who answers, when the
// settings are its own.
type DescribeConfigReply struct {
	Code     Code
	Detail   string
	Node     NodeID
	Settings []SettingInfo
}

// SettingInfo is one setting as it holds, and where its value comes from.
type SettingInfo struct {
	Key    string
	Value  string
	Source SettingSource
	Prose  string // what it means, and which values it may have
}

// SettingSource tells where a value comes from. The later ones win.
type SettingSource uint8

// The sources.
const (
	FromDefault SettingSource = iota // nobody has said anything
	FromStart                        // the node was started with it: file, variable or flag
	FromCluster                      // set while running, for all nodes
	FromNode                         // set while running, for this node
	FromTopic                        // set for this topic
)

// String names the source.
func (s SettingSource) String() string {
	names := [...]string{"default", "start", "cluster", "node", "topic"}
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown"
}

// AlterControllers changes who votes over the controller's log, one node at a
// time. A node that is added follows the log as a learner first, and votes as
// soon as it has caught up.
type AlterControllers struct {
	Node   NodeID
	Remove bool
}

// AlterControllersReply is sent after the change is committed: of an addition,
// after the node has become a learner.
type AlterControllersReply struct {
	Code   Code
	Detail string
}

// SettingsChange is all that is set while running for one node, or for all of
// them (NoNode). Settings are in the order of their keys; none: back to what
// the nodes were started with.
type SettingsChange struct {
	Node     NodeID
	Settings []Setting
}

// ControllersChange is who holds the controller's log from here on. It is never
// proposed: it follows from an entry of the log that changes the quorum itself.
type ControllersChange struct {
	Voters   []NodeID // by rising id
	Learners []NodeID // get the log and do not vote
}

func failSettings(r Request, code Code, detail string) Reply {
	switch r.(type) {
	case *AlterConfig:
		return &AlterConfigReply{Code: code, Detail: detail}
	case *DescribeConfig:
		return &DescribeConfigReply{Code: code, Detail: detail}
	case *AlterControllers:
		return &AlterControllersReply{Code: code, Detail: detail}
	}
	return nil
}

// Kind is KindAlterConfig.
func (*AlterConfig) Kind() Kind { return KindAlterConfig }

// Kind is KindAlterConfigReply.
func (*AlterConfigReply) Kind() Kind { return KindAlterConfigReply }

// Kind is KindDescribeConfig.
func (*DescribeConfig) Kind() Kind { return KindDescribeConfig }

// Kind is KindDescribeConfigReply.
func (*DescribeConfigReply) Kind() Kind { return KindDescribeConfigReply }

// Kind is KindAlterControllers.
func (*AlterControllers) Kind() Kind { return KindAlterControllers }

// Kind is KindAlterControllersReply.
func (*AlterControllersReply) Kind() Kind { return KindAlterControllersReply }

func (*AlterConfig) isRequest()      {}
func (*DescribeConfig) isRequest()   {}
func (*AlterControllers) isRequest() {}

func (*AlterConfigReply) isReply()      {}
func (*DescribeConfigReply) isReply()   {}
func (*AlterControllersReply) isReply() {}
