// What is typed while the workbench cannot be reached: this tab keeps it until the server has saved it. The page is
// loaded again when another server answers, and only the text that reached the first one is in the file.
window.labDraft = {
  lost: false,

  // The editor's element, the name of its file, and the text that the file has. Gives the draft of an earlier load.
  watch(id, name, saved) {
    Object.assign(this, { editor: getElement(id).editor, key: `gridstride draft ${name}`, saved });
    window.socket.on("disconnect", () => {
      this.lost = true;
    });
    window.addEventListener("pagehide", () => this.keep());
    setInterval(() => this.keep(), 1000);
    return JSON.parse(sessionStorage.getItem(this.key));
  },

  keep() {
    const text = this.editor.state.doc.toString();
    if (this.lost && text !== this.saved) sessionStorage.setItem(this.key, JSON.stringify({ saved: this.saved, text }));
  },

  // The file has this text now.
  settled(text) {
    this.saved = text;
    if (this.editor?.state.doc.toString() !== text) return;
    this.lost = false;
    sessionStorage.removeItem(this.key);
  },
};
