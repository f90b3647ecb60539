package org.apache.dubbo.interop;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** The main bean of the contract; the names of its fields are those on the wire. */
public class User implements Serializable {
    private static final long serialVersionUID = 1L;
    private String id;
    private String name;
    private int age;
    private long score;
    private double rate;
    private boolean active;
    private Date birth;
    private Gender gender;
    private List<String> tags;
    private Map<String, Object> attrs;
    private User friend;
    private byte[] photo;

    public User() {}

    /** The user that every provider has for an id. */
    public static User sample(String id) {
        User u = new User();
        u.id = id;
        u.name = "user-" + id;
        u.age = 20;
        u.score = 1L << 40;
        u.rate = 0.5;
        u.active = true;
        u.birth = new Date(1500000000123L);
        u.gender = Gender.FEMALE;
        u.tags = new ArrayList<>(List.of("a", "b"));
        u.attrs = new HashMap<>();
        u.attrs.put("k", "v");
        u.attrs.put("n", 7);
        u.photo = new byte[] {0, 1, (byte) 0xfe, (byte) 0xff};
        return u;
    }

    public String getId() { return id; }
    public void setId(String id) { this.id = id; }
    public String getName() { return name; }
    public void setName(String name) { this.name = name; }
    public int getAge() { return age; }
    public void setAge(int age) { this.age = age; }
    public long getScore() { return score; }
    public void setScore(long score) { this.score = score; }
    public double getRate() { return rate; }
    public void setRate(double rate) { this.rate = rate; }
    public boolean isActive() { return active; }
    public void setActive(boolean active) { this.active = active; }
    public Date getBirth() { return birth; }
    public void setBirth(Date birth) { this.birth = birth; }
    public Gender getGender() { return gender; }
    public void setGender(Gender gender) { this.gender = gender; }
    public List<String> getTags() { return tags; }
    public void setTags(List<String> tags) { this.tags = tags; }
    public Map<String, Object> getAttrs() { return attrs; }
    public void setAttrs(Map<String, Object> attrs) { this.attrs = attrs; }
    public User getFriend() { return friend; }
    public void setFriend(User friend) { this.friend = friend; }
    public byte[] getPhoto() { return photo; }
    public void setPhoto(byte[] photo) { this.photo = photo; }
}
