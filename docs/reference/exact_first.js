window.pdocSearch = ((search) => {
    // A result's names, the whole one first: `agent_driver.Agent.run`, `Agent.run`, `run`; `operate` of a page.
    const namesOf = (doc) => [
        doc.fullname,
        doc.qualname || "",
        doc.fullname.split(/[./]/).pop().replace(/-\w+$/, ""),
    ];
    const rankOf = (doc, term) => {
        const names = namesOf(doc);
        const exact = names.indexOf(term);
        const alike = names.findIndex((name) => name.toLowerCase() === term.toLowerCase());
        return exact >= 0 ? exact : alike >= 0 ? names.length + alike : 2 * names.length;
    };
    return (typed) => {
        const term = typed.trim().replace(/^`|`$|\(\)`?$/g, "");
        // The sort is stable: what is alike stays in the order of the search.
        return search(term).sort((one, other) => rankOf(one.doc, term) - rankOf(other.doc, term));
    };
})(window.pdocSearch);
