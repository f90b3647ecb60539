package org.apache.dubbo.interop;

import java.io.Serializable;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A bean of collections. */
public class Bag implements Serializable {
    private static final long serialVersionUID = 1L;
    private List<Object> items;
    private Map<Object, Object> map;
    private Address address;
    private Set<String> set;

    public List<Object> getItems() { return items; }
    public void setItems(List<Object> items) { this.items = items; }
    public Map<Object, Object> getMap() { return map; }
    public void setMap(Map<Object, Object> map) { this.map = map; }
    public Address getAddress() { return address; }
    public void setAddress(Address address) { this.address = address; }
    public Set<String> getSet() { return set; }
    public void setSet(Set<String> set) { this.set = set; }
}
