package org.apache.dubbo.interop;

import com.alibaba.fastjson2.JSON;
import com.alibaba.fastjson2.JSONWriter;

/** What peers say to the runner: one JSON object per line. */
public final class Lines {
    private Lines() {}

    public static synchronized void print(Object line) {
        System.out.println(JSON.toJSONString(line, JSONWriter.Feature.WriteMapNullValue));
        System.out.flush();
    }
}
