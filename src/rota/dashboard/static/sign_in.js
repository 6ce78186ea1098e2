// A link with a token signs in by itself; without scripts there is a button.
document.getElementById("with-token").requestSubmit();
