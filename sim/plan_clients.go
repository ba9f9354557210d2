package sim

// Role is what a client does for a living.
type Role string

// The roles.
const (
	Producer  Role = "producer"  // publishes
	MemberOf  Role = "member"    // polls and commits as a member of a group
	Reader    Role = "reader"    // reads partitions from offsets of its choice
	Admin     Role = "admin"     // creates, deletes and grows topics
	Chaos     Role = "chaos"     // sends any legal request with any arguments
	Malformed Role = "malformed" // sends requests that must be refused
	// Worker is a member of a group that reads committed records, and for those of a
	// poll publishes others and stores its positions, all in one transaction.
	Worker Role = "worker"
	// Processor does the same without transactions: it publishes, and stores its
	// positions after that or, with the style "at-most-once", before.
	Processor  Role = "processor"
	Transactor Role = "transactor" // publishes transactions, and is in no group
	Hoarder    Role = "hoarder"    // is a member of a group, and from Stop on gives nothing up
)

// The words that a plan may have where only some mean something: any other would be
// taken for the first, or for nothing.
var (
	roles  = []Role{Producer, MemberOf, Reader, Admin, Chaos, Malformed, Worker, Processor, Transactor, Hoarder}
	styles = []string{"", "at-least-once", "at-most-once", "manual", "auto"}
	resets = []string{"", "earliest", "latest"}
)

// ClientPlan is one client process. Which fields mean something depends on the
// role; zero values mean what a reader would expect.
type ClientPlan struct {
	ID    int  `json:"id"`
	Role  Role `json:"role"`
	Start Span `json:"start,omitempty"`
	Stop  Span `json:"stop,omitempty"` // closes in good order; 0: never
	// Every is the mean time between two operations.
	Every  Span     `json:"every"`
	Topics []string `json:"topics,omitempty"`

	// Producer.
	Acks       int  `json:"acks,omitempty"` // -1 all, 0 none, 1 leader
	Idempotent bool `json:"idempotent,omitempty"`
	Keys       int  `json:"keys,omitempty"`     // distinct keys; 0: no keys
	LongKeys   bool `json:"longKeys,omitempty"` // keys of many lengths, up to 21 bytes; else all are short
	Size       int  `json:"size,omitempty"`     // bytes of a value
	Burst      int  `json:"burst,omitempty"`
	Count      int  `json:"count,omitempty"`   // operations in all; 0: no limit
	Batch      int  `json:"batch,omitempty"`   // bytes at which a batch is full
	Request    int  `json:"request,omitempty"` // bytes that a request grows to with more than one batch
	Buffer     int  `json:"buffer,omitempty"`  // bytes of records that may wait for their result
	Ahead      int  `json:"ahead,omitempty"`   // bytes that may be fetched ahead of the application
	Outsize    int  `json:"outsize,omitempty"` // every so many-th record is larger than any topic takes, three at most
	Linger     Span `json:"linger,omitempty"`
	Headers    bool `json:"headers,omitempty"`
	// Work and Nap let it publish for a time, and then nothing for another, in turn;
	// 0: it never naps.
	Work Span `json:"work,omitempty"`
	Nap  Span `json:"nap,omitempty"`

	// Member.
	Group    string `json:"group,omitempty"`
	Instance string `json:"instance,omitempty"`
	Style    string `json:"style,omitempty"` // "at-least-once", "at-most-once", "manual", "auto"
	Reset    string `json:"reset,omitempty"` // "earliest", "latest"
	Slow     Span   `json:"slow,omitempty"`  // time to process one poll

	// Committed lets a member or reader see committed records only; workers do anyway.
	Committed bool `json:"committed,omitempty"`
	// Fetch is how many bytes of a partition it asks for at once; 0: more than there
	// is. A batch that is larger comes whole.
	Fetch int `json:"fetch,omitempty"`

	// Worker and transactor. Clients with the same Transactional id fence each other.
	Transactional string `json:"transactional,omitempty"`
	Limit         Span   `json:"limit,omitempty"` // of a transaction; 0: the broker's
	// Into are the topics into which a worker writes, Fan records for each that it
	// reads (0: 1).
	Into []string `json:"into,omitempty"`
	Fan  int      `json:"fan,omitempty"`
	// Abort and Dawdle are how many of a hundred transactions are given up by the
	// application, or stay open until their limit is over.
	Abort  int `json:"abort,omitempty"`
	Dawdle int `json:"dawdle,omitempty"`
	// Retry is how many of a hundred transactions that were aborted, and may be tried
	// again, are: with the same records, without going back. Leave is how many of a
	// hundred begins and commits are not waited for until they are answered. Quit is how
	// many of a hundred commits the client is closed during; then it is started again.
	Retry int `json:"retry,omitempty"`
	Leave int `json:"leave,omitempty"`
	Quit  int `json:"quit,omitempty"`
	// Sift lets a worker that has gone back poll as much as before, and make a
	// transaction from the records of each partition, to find out which are at fault.
	Sift bool `json:"sift,omitempty"`

	// Seek is how many of a hundred polls of a member or reader come with a seek to
	// some other place. Times lets who looks for times look for those that records
	// have, and those beside them. Again is how many of a hundred seeks are followed by
	// another one in the same partition at once, while the first may still be asking.
	Seek  int  `json:"seek,omitempty"`
	Times bool `json:"times,omitempty"`
	Again int  `json:"again,omitempty"`
	// Hold is how many of a hundred polls come with a pause of some partitions, or with
	// their resumption.
	Hold int `json:"hold,omitempty"`

	// Misnamed gives a reader the name of a group that cannot be, until it begins anew.
	Misnamed bool `json:"misnamed,omitempty"`

	// Undo lets a chaos client pend a position with each transactional id that it is
	// given, and ask for that position to be deleted as soon as it is pending.
	Undo bool `json:"undo,omitempty"`

	// Ops are all that the client does, by time, in place of the loop of its role;
	// null: the loop. An empty list is a client that only starts.
	Ops []ClientOp `json:"ops,omitzero"`
}
