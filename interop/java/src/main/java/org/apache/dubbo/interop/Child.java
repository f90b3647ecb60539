package org.apache.dubbo.interop;

/** Declares a field with the same name as one of its superclass. */
public class Child extends Base {
    private static final long serialVersionUID = 1L;
    private String name;
    private long extra;

    public String getName() { return name; }
    public void setName(String name) { this.name = name; }
    public long getExtra() { return extra; }
    public void setExtra(long extra) { this.extra = extra; }
}
