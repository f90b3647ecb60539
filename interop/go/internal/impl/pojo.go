package impl

import (
	"time"

	hessian "github.com/apache/dubbo-go-hessian2"
	"github.com/apache/dubbo-go-hessian2/java_exception"
	gxbig "github.com/dubbogo/gost/math/big"
)

// Names that Java knows.
const (
	UserServiceName = JavaPackage + "UserService"
	JavaPackage     = "org.apache.dubbo.interop."
)

// Decimal and Integer are java.math's.
type (
	Decimal = gxbig.Decimal
	Integer = gxbig.Integer
)

// Gender is an enum.
type Gender hessian.JavaEnum

const (
	GenderUnknown Gender = iota
	GenderMale
	GenderFemale
)

var genderNames = map[Gender]string{GenderUnknown: "UNKNOWN", GenderMale: "MALE", GenderFemale: "FEMALE"}

func (Gender) JavaClassName() string { return JavaPackage + "Gender" }
func (g Gender) String() string      { return genderNames[g] }

// EnumValue is the number of a constant.
func (Gender) EnumValue(s string) hessian.JavaEnum {
	for g, n := range genderNames {
		if n == s {
			return hessian.JavaEnum(g)
		}
	}
	return hessian.InvalidJavaEnum
}

// User is the main bean of the contract.
type User struct {
	ID     string         `hessian:"id"`
	Name   string         `hessian:"name"`
	Age    int32          `hessian:"age"`
	Score  int64          `hessian:"score"`
	Rate   float64        `hessian:"rate"`
	Active bool           `hessian:"active"`
	Birth  time.Time      `hessian:"birth"`
	Gender Gender         `hessian:"gender"`
	Tags   []string       `hessian:"tags"`
	Attrs  map[string]any `hessian:"attrs"`
	Friend *User          `hessian:"friend"`
	Photo  []byte         `hessian:"photo"`
}

func (*User) JavaClassName() string { return JavaPackage + "User" }

// NewUser is the user that every provider has for an id.
func NewUser(id string) *User {
	return &User{
		ID: id, Name: "user-" + id, Age: 20, Score: 1 << 40, Rate: 0.5, Active: true,
		Birth: time.UnixMilli(1500000000123), Gender: GenderFemale,
		Tags: []string{"a", "b"}, Attrs: map[string]any{"k": "v", "n": int32(7)},
		Photo: []byte{0x00, 0x01, 0xfe, 0xff},
	}
}

// Address is a bean inside a Bag.
type Address struct {
	City string `hessian:"city"`
	Zip  int32  `hessian:"zip"`
}

func (*Address) JavaClassName() string { return JavaPackage + "Address" }

// Bag is a bean of collections.
type Bag struct {
	Items   []any       `hessian:"items"`
	Map     map[any]any `hessian:"map"`
	Address *Address    `hessian:"address"`
	Set     *HashSet    `hessian:"set"`
}

func (*Bag) JavaClassName() string { return JavaPackage + "Bag" }

// HashSet is a list of the type java.util.HashSet.
type HashSet struct{ Value []any }

func (s *HashSet) Get() []any          { return s.Value }
func (s *HashSet) Set(v []any)         { s.Value = v }
func (*HashSet) JavaClassName() string { return "java.util.HashSet" }

// UserException is the checked exception of the contract.
type UserException struct {
	SerialVersionUID     int64
	DetailMessage        string
	Code                 int32  `hessian:"code"`
	Detail               string `hessian:"detail"`
	SuppressedExceptions []java_exception.Throwabler
	StackTrace           []java_exception.StackTraceElement
	Cause                java_exception.Throwabler
}

func (e UserException) Error() string                                     { return e.DetailMessage }
func (UserException) JavaClassName() string                               { return JavaPackage + "UserException" }
func (e UserException) GetStackTrace() []java_exception.StackTraceElement { return e.StackTrace }

func init() {
	hessian.RegisterPOJO(&User{})
	hessian.RegisterPOJO(&Address{})
	hessian.RegisterPOJO(&Bag{})
	hessian.RegisterPOJO(&UserException{})
	for g := range genderNames {
		hessian.RegisterJavaEnum(g)
	}
	hessian.SetCollectionSerialize(&HashSet{})
}
