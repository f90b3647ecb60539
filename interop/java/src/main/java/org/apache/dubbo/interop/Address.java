package org.apache.dubbo.interop;

import java.io.Serializable;

/** A bean inside a {@link Bag}. */
public class Address implements Serializable {
    private static final long serialVersionUID = 1L;
    private String city;
    private int zip;

    public Address() {}

    public Address(String city, int zip) {
        this.city = city;
        this.zip = zip;
    }

    public String getCity() { return city; }
    public void setCity(String city) { this.city = city; }
    public int getZip() { return zip; }
    public void setZip(int zip) { this.zip = zip; }
}
