// What scripts find, by the names that scripts for Dubbo Java and for dubbo-go call it.
(ofNode) => {
    class Url {
        #place;

        constructor(place) {
            this.#place = place;
        }

        get protocol() { return ofNode(this.#place, "protocol", ""); }
        get host() { return ofNode(this.#place, "host", ""); }
        get port() { return Number(ofNode(this.#place, "port", "") ?? 0); }
        get path() { return ofNode(this.#place, "path", ""); }
        get address() { return ofNode(this.#place, "address", ""); }
        param(key, otherwise) { return ofNode(this.#place, "param", String(key)) ?? otherwise; }

        getProtocol() { return this.protocol; }
        getHost() { return this.host; }
        getIp() { return this.host; }
        getPort() { return this.port; }
        getPath() { return this.path; }
        getAddress() { return this.address; }
        getParameter(key, otherwise) { return this.param(key, otherwise); }

        get Protocol() { return this.protocol; }
        get Ip() { return this.host; }
        get Port() { return String(this.port); }
        get Path() { return this.path; }
        get Location() { return this.address; }
        GetParam(key, otherwise) { return this.param(key, otherwise); }
    }

    class Invoker {
        #place;
        #turn;

        constructor(place, turn) {
            this.#place = place;
            this.#turn = turn;
        }

        get url() { return new Url(this.#place); }
        getUrl() { return this.url; }
        GetURL() { return this.url; }

        static place(invoker, turn) {
            if (typeof invoker !== "object" || invoker === null || !(#place in invoker) || invoker.#turn !== turn) {
                throw new TypeError("it returned something that is none of the invokers it was given");
            }
            return invoker.#place;
        }
    }

    class ArrayList extends Array {
        // A number is room for so many.
        constructor() { super(); }

        add(item) { this.push(item); return true; }
        get(index) { return this[index]; }
        isEmpty() { return this.length === 0; }
        size() { return this.length; }
    }

    globalThis.java = { util: { ArrayList, LinkedList: ArrayList } };

    const { place } = Invoker;
    const { isArray } = Array;
    let turn = 0;
    return (route) => (places, service, method, attachments, args) => {
        turn += 1;
        const invokers = new ArrayList();
        for (let at = 0; at < places.length; at += 1) {
            invokers[at] = new Invoker(places[at], turn);
        }
        const attachment = (key, otherwise) => attachments[key] ?? otherwise;
        const invocation = {
            service, method, attachments, arguments: args, attachment,
            getServiceName: () => service, getMethodName: () => method, getArguments: () => args,
            getAttachments: () => attachments, getAttachment: attachment,
            ServiceKey: () => service, MethodName: () => method, ActualMethodName: () => method,
            Arguments: () => args, Attachments: () => attachments, GetAttachment: attachment,
        };
        const kept = route(invokers, invocation, attachments);
        if (!isArray(kept)) {
            throw new TypeError("it has to return an array of invokers");
        }
        const left = [];
        for (let at = 0; at < kept.length; at += 1) {
            left[at] = place(kept[at], turn);
        }
        return left;
    };
};
