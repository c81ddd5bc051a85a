// The card of a point that was clicked: where its packet is, and what is known of it.

class PointCard {
  constructor(holder) {
    this.holder = holder;
    this.about = null; // files and explanations of the present view
    document.addEventListener("point", ({ detail }) => (detail ? this.show(detail) : this.close()));
    document.addEventListener("keydown", (event) => event.key === "Escape" && this.close());
  }

  close() {
    this.holder.hidden = true;
    this.holder.replaceChildren();
  }

  show({ layer, row, time }) {
    const record = layer.all.record[row];
    const source = this.about.sources[layer.source];
    const name = source ? source.name : "";
    const what = source && source.capture ? "Packet" : "Record";
    const explanation = this.about.explanations[`${layer.source}:${record}`];
    const close = element("button", "×", { type: "button", title: "Close", class: "close" });
    close.addEventListener("click", () => this.close());
    const parts = [
      close,
      element("h3", `${what} ${record.toLocaleString("en-US")} of ${name}`),
      element("p", `${layer.label}, at ${time.toFixed(6)} s`, { class: "lead" }),
    ];
    if (source && source.capture) {
      const filter = `frame.number == ${record}`;
      parts.push(this.line("Wireshark", filter), this.line("tshark", `tshark -r ${source.quoted} -Y "${filter}" -V`));
    }
    if (explanation) {
      const list = element("dl", "");
      for (let i = 1; i < explanation.length; i += 2) list.append(element("dt", explanation[i]), element("dd", explanation[i + 1]));
      parts.push(element("p", explanation[0], { class: "title" }), list);
    } else if (source && source.capture && source.sender !== false) {
      parts.push(this.line("Explained by", `${this.about.explain} --packet ${record}`));
    }
    this.holder.replaceChildren(...parts);
    this.holder.hidden = false;
    this.holder.scrollTop = 0;
  }

  // A command or filter, and a button that copies it.
  line(label, words) {
    const button = element("button", "Copy", { type: "button" });
    button.addEventListener("click", async () => {
      button.textContent = (await copied(words)) ? "Copied" : "Select it";
    });
    const line = element("p", "", { class: "copy" });
    line.append(element("span", label), element("code", words), button);
    return line;
  }
}

function element(name, words, attributes = {}) {
  const made = document.createElement(name);
  if (words) made.textContent = words;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
}

// Put words on the clipboard; a page from disk may not be allowed the new way.
async function copied(words) {
  try {
    await navigator.clipboard.writeText(words);
    return true;
  } catch {
    const area = element("textarea", words);
    area.value = words;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
