// SPDX-License-Identifier: Apache-2.0
// A Worker for pages that are read without a server, where browsers refuse to start one. Its script runs in a frame
// of the page, whose messages are passed on. With a server, the browser's own Worker is used.
(() => {
  if (location.protocol !== "file:") return;
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.waiting = [];
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.frame.title = "search";
      document.documentElement.append(this.frame);
      const inside = this.frame.contentWindow;
      const run = (address) => new Promise((resolve, reject) => {
        const script = inside.document.createElement("script");
        script.src = new URL(address, document.baseURI).href;
        script.onload = resolve;
        script.onerror = reject;
        inside.document.body.append(script);
      });
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      inside.importScripts = (...all) => all.reduce((done, one) => done.then(() => run(one)), Promise.resolve());
      run(url).then(() => {
        this.isReady = true;
        this.waiting.splice(0).forEach((data) => this.pass(data));
      });
    }
    pass(data) {
      const inside = this.frame.contentWindow;
      const event = new inside.MessageEvent("message", { data });
      inside.onmessage?.(event);
      if (!inside.onmessage) inside.dispatchEvent(event);
    }
    postMessage(data) {
      if (this.isReady) this.pass(data);
      else this.waiting.push(data);
    }
    terminate() {
      this.frame.remove();
    }
  };
})();
