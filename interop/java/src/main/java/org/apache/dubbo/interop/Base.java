package org.apache.dubbo.interop;

import java.io.Serializable;

/** What {@link Child} inherits. */
public class Base implements Serializable {
    private static final long serialVersionUID = 1L;
    private int id;
    private String name;

    public int getId() { return id; }
    public void setId(int id) { this.id = id; }
    public String getBaseName() { return name; }
    public void setBaseName(String name) { this.name = name; }
}
