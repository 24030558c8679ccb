/* How search orders what it finds: Sphinx's own scores, and chapters before the pages beside them. */
var Scorer = {
  score: ([docname, title, anchor, description, score]) => score + (docname.startsWith("chapters/") ? 100 : 0),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
