package main

import (
	"context"

	hessian "github.com/apache/dubbo-go-hessian2"

	"dubbo-rust/interop/go/internal/impl"
)

const javaString = "java.lang.String"

// Calls without the interface.
var genericCases = []testCase{
	{"generic_hello", invoke("hello", []string{javaString}, "x")},
	{"generic_user", func(ctx context.Context, e *env) (any, error) {
		got, err := invoke("getUser", []string{javaString}, "A")(ctx, e)
		return answer(fields(got, "name", "age"), err)
	}},
	{"generic_bean_argument", func(ctx context.Context, e *env) (any, error) {
		u := map[string]any{"class": impl.JavaPackage + "User", "id": "A", "name": "old", "age": int32(1), "gender": "MALE"}
		got, err := invoke("mix", []string{javaString, "int", impl.JavaPackage + "User"}, "new", int32(9), u)(ctx, e)
		return answer(fields(got, "id", "name", "age", "gender"), err)
	}},
	{"generic_list", func(ctx context.Context, e *env) (any, error) {
		got, err := invoke("getUsers", []string{"java.util.List"}, []any{"A", "B"})(ctx, e)
		users := []any{}
		if list, ok := got.([]any); ok {
			for _, u := range list {
				users = append(users, fields(u, "name", "age"))
			}
		}
		return answer(users, err)
	}},
	{"generic_null", invoke("nothing", []string{javaString}, "A")},
	{"generic_no_types", invoke("hello", nil, "x")},
	{"generic_error", invoke("fail", []string{javaString}, "boom")},
	{"generic_error_checked", invoke("throwChecked", []string{javaString}, "checked")},
	{"generic_unknown_method", invoke("noSuchMethod", []string{javaString}, "x")},
}

func invoke(method string, types []string, args ...hessian.Object) call {
	return func(ctx context.Context, e *env) (any, error) {
		cli, err := e.client(reference{})
		if err != nil {
			return nil, err
		}
		service, err := cli.NewGenericService(impl.UserServiceName, e.hessian(reference{generic: "true"})...)
		if err != nil {
			return nil, err
		}
		got, err := service.Invoke(ctx, method, types, args)
		if err != nil {
			return nil, err
		}
		return got, nil
	}
}

// fields are those of a bean, which comes as a map.
func fields(bean any, names ...string) (out []any) {
	for _, name := range names {
		switch m := bean.(type) {
		case map[any]any:
			out = append(out, m[name])
		case map[string]any:
			out = append(out, m[name])
		default:
			return []any{text(bean)}
		}
	}
	return out
}
